// The types that the modules of this tab share: known by their names.

type Mask = import("./mask_bits.js").Mask;
type Verdict = import("./passed_file.js").Verdict;
type Origin = import("./presets.js").Origin;
type Meant = import("./presets.js").Meant;
type Scope = import("./scope_fields.js").Scope;
type ZooTab = import("./zoo.js").ZooTab;
