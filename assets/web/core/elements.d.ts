// What el() takes: attributes by their HTML names, and handlers typed by their event and their element.

type Value = string | number | boolean | null | undefined;

type Handlers<Node> = {
  [Name in keyof HTMLElementEventMap as `on${Name}`]?: (
    event: HTMLElementEventMap[Name] & { currentTarget: Node },
  ) => unknown;
};

type Field =
  | "accept"
  | "autocomplete"
  | "checked"
  | "disabled"
  | "for"
  | "list"
  | "max"
  | "maxlength"
  | "min"
  | "multiple";
type Input =
  | "inputmode"
  | "name"
  | "placeholder"
  | "readonly"
  | "rows"
  | "selected"
  | "spellcheck"
  | "step"
  | "type"
  | "value";
type Shown =
  | "alt"
  | "class"
  | "dir"
  | "hidden"
  | "id"
  | "label"
  | "lang"
  | "open"
  | "popover"
  | "popovertarget"
  | "role"
  | "style"
  | "tabindex"
  | "title";
type Place = "colspan" | "download" | "href" | "rel" | "rowspan" | "scope" | "src" | "target";
type Named = Field | Input | Shown | Place | `data-${string}` | `aria-${string}`;

export type Attributes<Node> = { [Name in Named]?: Value } & Handlers<Node>;

declare global {
  // Tabs, so that a script or a test can ask what is shown.
  interface Window {
    vizCell: object; // a notebook's
    vizCorpus: object;
    vizTab: object;
    vizHidden: object;
    vizLearn: object;
    vizMasks: object;
    vizPage: object; // an exported one
    vizWhatif: object;
    vizZoo: object;
  }
}
