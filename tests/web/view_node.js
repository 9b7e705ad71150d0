// The element of a view, as far as a view needs one without a page.

export const viewNode = () =>
  Object.assign(new EventTarget(), { dataset: {}, classList: { toggle: () => {} }, setAttribute: () => {} });
