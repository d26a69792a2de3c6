// <headlight-view src="cat.html" at="h=4.0&q=3" height="720"></headlight-view>: a page saved by headlight show --html or
// by Export, as a part of another document. Any number of them, each with a state of its own: every one is a frame.
//
//   src      the saved page
//   at       the view to show, as Share copies it behind the #; none: the one that was saved
//   height   in pixels [720]
//   name     what a screen reader calls it [Attention viewer]
class HeadlightView extends HTMLElement {
  static observedAttributes = ['src', 'at', 'height', 'name'];
  #frame = document.createElement('iframe');

  connectedCallback() {
    if (this.#frame.isConnected) return;
    // Its own origin: the page can neither read this document nor other viewers.
    this.#frame.setAttribute('sandbox', 'allow-scripts allow-downloads');
    this.#frame.style.cssText = 'width:100%;border:0;display:block';
    this.style.display = 'block';
    this.append(this.#frame);
    this.#show();
  }
  attributeChangedCallback() {
    if (this.#frame.isConnected) this.#show();
  }
  #show() {
    const at = this.getAttribute('at'),
      page = this.getAttribute('src') ?? '';
    const source = new URL(page.split('#')[0] + (at ? '#' + at : ''), document.baseURI).href;
    if (this.#frame.src !== source) this.#frame.src = source;
    this.#frame.height = this.getAttribute('height') ?? '720';
    this.#frame.title = this.getAttribute('name') ?? 'Attention viewer';
  }
}
customElements.define('headlight-view', HeadlightView);
