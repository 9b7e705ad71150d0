"""Every fault a user can meet, as one tree; each message names the value, the rule and the fix.

VizEncoderError
├── ConfigError        an encoder that cannot be built
├── CheckpointError    a model folder that cannot be loaded
│   ├── UnknownFamily  its model_type is not one that we load
│   ├── KeyMismatch    its tensors are not the ones its config promises
│   └── UnsafeFile     it could run code, leave its folder or exhaust the machine
├── InputError         a text, picture or tensor that cannot be encoded
│   ├── TooLong        it is over a stated limit
│   └── NotAnImage     it is not a picture that we can decode
├── SelectionError     a layer, head, token or option that is not there
│   └── Expired        a run that the server no longer has
├── TraceError         a run that cannot be captured, saved or read back
└── MaskError          a model that does not look where it was meant to
"""


class VizEncoderError(Exception):
    """A fault that the user can fix; str(error) is a plain sentence fit for the page."""


class ConfigError(VizEncoderError):
    """An encoder configuration that cannot be built."""


class CheckpointError(VizEncoderError):
    """A model folder that cannot be loaded."""


class UnknownFamily(CheckpointError):
    """A model_type that no family file claims."""


class KeyMismatch(CheckpointError):
    """Tensors missing, unexpected or of the wrong shape; all are listed together."""


class UnsafeFile(CheckpointError):
    """A file that could run code, leave its folder or exhaust the machine."""


class InputError(VizEncoderError):
    """A text, picture or tensor that cannot be encoded."""


class TooLong(InputError):
    """An input over a stated limit."""


class NotAnImage(InputError):
    """Bytes that are not a picture we can decode."""


class SelectionError(VizEncoderError):
    """A layer, head, token or option that is not there."""


class Expired(SelectionError):
    """A run that the server had, but no longer has."""


class TraceError(VizEncoderError):
    """A run that cannot be captured, saved or read back."""


class MaskError(VizEncoderError, AssertionError):
    """A model that does not look where it was meant to; str(error) is the audit's report."""

    def __init__(self, text: str, report: object = None) -> None:
        super().__init__(text)
        self.report = report
