// What a page has and node has not: an address, and events of the window. Imported before what reads them.

globalThis.location ??= /** @type {Location} */ ({ search: "" });
globalThis.addEventListener ??= () => {};
