// <headlight-view src="cat.html" at="h=4.0&q=3"></headlight-view>: a page saved by headlight show --html or by Export, as a
// part of another document. Any number of them can be in one document, each with a state of its own and without frames:
// the program inside the saved page is run once for each element, in its shadow root.
//
//   src      the saved page, from this server: browsers let no page that is a file read another file
//   at       the view to show, as Share copies it behind the #; none: the one that was saved. Changes when somebody looks
//            at something else, with an event "change"
//   height   in pixels, with its own scroll bar; none: as high as it is
//   name     what a screen reader calls it [Attention viewer]
{
  // Rules for the document are rules for the element: its theme, its body, its width.
  const styleOf = (css) =>
    ':host{display:block;container-type:inline-size;contain:layout;overflow:auto}' +
    css
      .replace(/(^|[},\s])(?::root|html)(?=[{[,\s])/g, '$1.frame')
      .replace(/(^|[},\s])body(?=[{,\s])/g, '$1.body')
      .replace(/@media ?(?=\((?:max|min)-width)/g, '@container ');

  // The program as a function of its host, without a name in the document.
  function functionOf(program) {
    const script = document.createElement('script');
    script.textContent = `document.currentScript.run=function(embedded){${program}}`;
    document.head.append(script);
    script.remove();
    if (!script.run) throw new Error('the security policy of this document forbids inline scripts');
    return script.run;
  }

  class HeadlightView extends HTMLElement {
    static observedAttributes = ['src', 'at', 'height', 'name'];
    #src = null;
    #hash = '';
    #moved = () => {};

    connectedCallback() {
      if (this.#src !== this.getAttribute('src')) void this.#show();
    }
    attributeChangedCallback(name, _, value) {
      if (name === 'height') this.style.height = value ? `${Number(value)}px` : '';
      if (name === 'name' || !this.ariaLabel) this.ariaLabel = this.getAttribute('name') ?? 'Attention viewer';
      if (!this.isConnected) return;
      if (name === 'src' && this.#src !== value) void this.#show();
      if (name === 'at' && '#' + value !== this.#hash) this.#go('#' + (value ?? ''));
    }
    #go(hash) {
      this.#hash = hash;
      this.#moved();
    }
    async #show() {
      const source = (this.#src = this.getAttribute('src'));
      this.role = 'region';
      const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
      root.innerHTML = '<div class="frame"><div class="body"><div id="page">Loading…</div></div></div>';
      try {
        const answer = await fetch(new URL(source ?? '', document.baseURI));
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
        const saved = new DOMParser().parseFromString(await answer.text(), 'text/html'),
          text = (selector) => saved.querySelector(selector)?.textContent ?? '';
        if (this.#src !== source) return;
        if (!text('#program') || !text('#data')) throw new Error('it is not a page saved by Headlight');
        this.#run(root, text('#program'), text('#data'), text('style'));
      } catch (error) {
        const why =
          location.protocol === 'file:'
            ? 'a file cannot read another one; open this page from a server'
            : error.message;
        root.getElementById('page').textContent = `<headlight-view> cannot show "${source}": ${why}.`;
      }
    }
    #run(root, program, data, css) {
      const sheet = new CSSStyleSheet(),
        at = this.getAttribute('at');
      sheet.replaceSync(styleOf(css));
      root.adoptedStyleSheets = [sheet];
      this.#hash = at ? '#' + at : '';
      functionOf(program)({
        root,
        frame: root.firstChild,
        data,
        link: () => new URL(this.#src, document.baseURI).href,
        hash: () => this.#hash,
        write: (hash) => {
          this.#hash = hash;
          this.setAttribute('at', hash.slice(1));
          this.dispatchEvent(new Event('change'));
        },
        go: (hash) => this.#go(hash),
        onMove: (moved) => (this.#moved = moved),
        keys: root,
      });
    }
  }
  customElements.define('headlight-view', HeadlightView);
}
