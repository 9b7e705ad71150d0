// The What if tab.

export function mount() {}
