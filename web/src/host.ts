// The environment of this viewer. The program runs once for each viewer and keeps its state in the scope of that run, so that
// one document can have any number of them. As a page it owns the document; inside another document it gets an
// element (web/headlight-view.js).
export interface Host {
  root: Document | ShadowRoot; // contains its elements
  frame: HTMLElement; // its attributes tell the style sheet theme, depth and state
  data: string; // the numbers of a saved page: base64 of gzip; empty: requested from the server
  link(): string; // the address before the #
  hash(): string; // the address from the # on
  write(hash: string, adds: boolean): void; // `adds`: as a new history entry
  go(hash: string): void; // as if typed into the address bar
  onMove(moved: () => void): void; // the address was changed from outside, or by go()
  keys: EventTarget; // whether keys pressed now are for this viewer
}

declare const embedded: Host | undefined; // an argument of the program, if it is not a page

const page: Host = {
  root: document,
  frame: document.documentElement,
  data: document.getElementById('data')?.textContent ?? '',
  link: () => location.href.split('#')[0],
  hash: () => location.hash,
  write(hash, adds) {
    try {
      const to = hash.length > 1 ? hash : location.pathname;
      if (adds) history.pushState(null, '', to);
      else history.replaceState(null, '', to);
    } catch {
      /* a page in a frame has no address of its own */
    }
  },
  go(hash) {
    location.hash = hash;
  },
  onMove(moved) {
    addEventListener('popstate', moved);
    addEventListener('hashchange', moved);
  },
  keys: window,
};
export const isPage = typeof embedded === 'undefined';
export const host: Host = isPage ? page : (embedded as Host);
export const byId = (id: string): HTMLElement | null => host.root.getElementById(id);
