// What a person types, as Slack's client puts it on the wire, and back for editing.
import { unescape } from './mrkdwn.js';

const escapeText = (s) => s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const WIRE = /(https?:\/\/[^\s<>"]+[^\s<>".,;:!?')\]])|(?<![\w.@/])([\w.+-]+@[\w-]+(?:\.[\w-]+)+)|(?<![\w@])@([\w.-]*\w)|(?<![\w#])#([\w-]+)/g;

/** encode escapes text and turns @name, #channel, addresses and URLs into Slack's tokens, outside code. */
export function encode(text, ws) {
  const people = new Map([...ws.users.values()].map((u) => [u.name.toLowerCase(), u.id]));
  if (ws.bot.name) people.set(ws.bot.name.toLowerCase(), ws.bot.user_id);
  const rooms = new Map(ws.rooms().filter((c) => !c.is_im).map((c) => [c.name.toLowerCase(), c]));
  return text.split(/(```[\s\S]*?```|`[^`\n]+`)/).map((part, i) => {
    if (i % 2) return escapeText(part);
    return part.split(WIRE).length === 1 ? escapeText(part) : tokens(part, people, rooms);
  }).join('');
}

function tokens(part, people, rooms) {
  let out = '', at = 0;
  for (const found of part.matchAll(WIRE)) {
    const [whole, url, mail, person, room] = found;
    let token = null;
    if (url) token = `<${escapeText(url)}>`;
    else if (mail) token = `<mailto:${mail}|${mail}>`;
    else if (person) {
      if (people.has(person.toLowerCase())) token = `<@${people.get(person.toLowerCase())}>`;
      else if (/^(here|channel|everyone)$/.test(person)) token = `<!${person}>`;
    } else if (room && rooms.has(room.toLowerCase())) { const c = rooms.get(room.toLowerCase()); token = `<#${c.id}|${c.name}>`; }
    out += escapeText(part.slice(at, found.index)) + (token ?? escapeText(whole));
    at = found.index + whole.length;
  }
  return out + escapeText(part.slice(at));
}

/** decode is the text to edit for a message on the wire. */
export function decode(text, ws) {
  return unescape(String(text ?? '').replace(/<([@#!]?)([^>|]+)(?:\|([^>]*))?>/g, (whole, kind, target, label) => {
    if (kind === '@') return `@${ws.user(target) ?? target}`;
    if (kind === '#') return `#${ws.channel(target) ?? label ?? target}`;
    if (kind === '!') return /^(here|channel|everyone)$/.test(target) ? `@${target}` : label ?? whole;
    return target.replace(/^mailto:/, '');
  }));
}
