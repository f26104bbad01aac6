// What Swagger UI leaves without a name, or with a wrong one, by selector.
const names: Record<string, (element: Element) => string | null> = {
  '.parameters select': parameterName,
  '.body-param textarea': () => 'Request body',
  '.close-modal': () => 'Close',
  '.responses-table': (table) => `Responses of ${table.id.replace(/_responses$/, '').replaceAll('_', ' ')}`,
  '.modal-btn[aria-label]': () => null, // What it says is its name.
};

/** Keeps the names of everything in a place right, until the function that it gives back is called. */
export function keepNamed(place: Element): () => void {
  const watching = new MutationObserver(() => nameAll(place));
  watching.observe(place, { childList: true, subtree: true });
  nameAll(place);
  return () => watching.disconnect();
}

function nameAll(place: Element): void {
  for (const [selector, nameOf] of Object.entries(names)) {
    for (const element of place.querySelectorAll(selector)) {
      const name = nameOf(element);
      if (name === null) element.removeAttribute('aria-label');
      else if (element.getAttribute('aria-label') !== name) element.setAttribute('aria-label', name);
    }
  }
}

function parameterName(element: Element): string {
  return element.closest('tr')?.querySelector('.parameter__name')?.firstChild?.textContent ?? 'Value';
}
