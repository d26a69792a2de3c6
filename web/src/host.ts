// Where this viewer lives. The program is run once for each viewer and keeps its state in the scope of that run, so that any
// number of them can be in one document. As a page it has the document to itself; inside another document it is given an
// element (web/headlight-view.js).
export interface Host {
  root: Document | ShadowRoot; // its elements are in here
  frame: HTMLElement; // tells the style sheet theme, depth and state
  data: string; // the numbers of a saved page: base64 of gzip; empty: the server is asked
  link(): string; // the address without what is behind the #
  hash(): string; // what is behind it, with the #
  write(hash: string, adds: boolean): void; // `adds`: as an entry to go back to
  go(hash: string): void; // as if somebody had typed it
  onMove(moved: () => void): void; // the address was changed from outside, or by go()
  keys: EventTarget; // keys pressed here are meant for this viewer
}

declare const embedded: Host | undefined; // an argument of the program, where it is not a page

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
