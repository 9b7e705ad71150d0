// Copying what a node reads; it is selected where the browser lets no script write to the clipboard.

/** @type {(node: HTMLElement, said: HTMLElement) => Promise<void>} */
export async function copyText(node, said) {
  try {
    await navigator.clipboard.writeText(node.textContent ?? "");
    said.textContent = "Copied.";
  } catch {
    getSelection()?.selectAllChildren(node);
    said.textContent = "Selected; press Ctrl+C.";
  }
}
