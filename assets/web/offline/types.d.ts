// The type that the modules of a document share: known by its name.

type KeptMap = import("./maps.js").KeptMap;
