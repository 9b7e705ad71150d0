// Types of core and views that modules of all tabs use: known by their names, as those of payloads.d.ts are.

type Borders = import("./border.js").Borders;
type Colors = import("./colors.js").Colors;
type Rgb = import("./colors.js").Rgb;
type Scale = import("./colors.js").Scale;
type Values = import("./colors.js").Values;
type Chosen = import("./selection_address.js").Chosen;
type PageSelection = import("./selection.js").PageSelection;
type Fresh = import("./latest.js").Fresh;
type Run = import("./run.js").Run;
type Shown = import("./run.js").Shown;
type Unit = import("./run.js").Unit;
type Switches = import("./run.js").Switches;
type Tell = import("./streamed.js").Tell;
type Watch = import("./tab_shell.js").Watch;
type Frame = import("./viewport.js").Frame;
type Span = import("./viewport.js").Span;
type Viewport = import("./viewport.js").Viewport;
type Sent = import("./wire.js").Sent;
type Fetch = import("./queue.js").Fetch;
type Area = import("../views/cells.js").Area;
type Titles = import("../views/chip_colors.js").Titles;
type Cell = import("../views/mask_grid.js").Cell;
type Saved = import("../views/save_row.js").Saved;
