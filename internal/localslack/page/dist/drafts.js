// What was typed and not sent, by person, channel and thread. It lives as long as the tab: a reload loses no words.

const PLACE = 'mecha.drafts';

/** Drafts is a Map that outlives the page. */
export class Drafts extends Map {
  constructor() {
    super();
    try { for (const [key, text] of JSON.parse(sessionStorage.getItem(PLACE) ?? '[]')) super.set(key, text); } catch { /* unreadable or forbidden: nothing was kept */ }
  }

  set(key, text) {
    if (text === (this.get(key) ?? '')) return this;
    if (text) super.set(key, text); else this.delete(key);
    try { sessionStorage.setItem(PLACE, JSON.stringify([...this])); } catch { /* full or forbidden: kept until a reload */ }
    return this;
  }
}
