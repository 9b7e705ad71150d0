// What el() takes: attributes by their HTML names, and handlers typed by their event and their element.

type Value = string | number | boolean | null | undefined;

type Handlers<Node> = {
  [Name in keyof HTMLElementEventMap as `on${Name}`]?: (
    event: HTMLElementEventMap[Name] & { currentTarget: Node },
  ) => unknown;
};

// Most attributes are properties in small letters.
type Fields = HTMLInputElement & HTMLTextAreaElement & HTMLOptionElement & HTMLButtonElement;
type Reflected = Fields & HTMLAnchorElement & HTMLTableCellElement & HTMLDetailsElement;
type Named = Exclude<Lowercase<keyof Reflected & string>, `on${string}`> | "class" | "for";

export type Attributes<Node> = { [Name in Named | `data-${string}` | `aria-${string}`]?: Value } & Handlers<Node>;

declare global {
  // Tabs and documents, so that a script or a test can ask what is shown.
  interface Window {
    [name: `viz${string}`]: object;
  }
}
