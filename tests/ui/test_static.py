"""The address of the page's own files, which browsers keep for good."""

from viz_encoder.ui.wire import static


def test_the_address_changes_with_a_files_content_its_name_and_its_folder(tmp_path, monkeypatch):
    found = []
    for files in (
        {"core/a.js": "1", "core/b.js": "2"},
        {"core/a.js": "1", "core/b.js": "3"},
        {"core/a.js": "2", "core/b.js": "1"},
        {"core/a.js": "1", "core/c.js": "2"},
        {"core/a.js": "1", "views/b.js": "2"},
        {"core/a.js": "1"},
    ):
        folder = tmp_path / str(len(found))
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        monkeypatch.setattr(static, "WEB", folder)
        found.append(static.version.__wrapped__())
        assert static.version.__wrapped__() == found[-1]
    assert len(set(found)) == len(found)
