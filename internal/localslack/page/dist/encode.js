// What a person types, and back for editing. The workspace escapes and links as Slack's clients do;
// picking a name is the client's part, so that @mecha becomes <@U…> whatever else is called so.
import { unescape } from './mrkdwn.js';

const NAME = /(?<![\w@#<])([@#])([\w.-]*\w)/g;

/** encode turns @name and #channel into Slack's tokens, outside code. */
export function encode(text, ws) {
  const people = new Map([...ws.users.values()].map((u) => [u.name.toLowerCase(), u.id]));
  if (ws.bot.name) people.set(ws.bot.name.toLowerCase(), ws.bot.user_id);
  const rooms = new Map(ws.rooms().filter((c) => !c.is_im && !c.is_mpim).map((c) => [c.name.toLowerCase(), c]));
  return text.split(/(```[\s\S]*?```|`[^`\n]+`)/).map((part, i) => (i % 2 ? part : part.replace(NAME, (whole, kind, name) => {
    if (kind === '@') return people.has(name.toLowerCase()) ? `<@${people.get(name.toLowerCase())}>` : whole;
    const room = rooms.get(name.toLowerCase());
    return room ? `<#${room.id}|${room.name}>` : whole;
  }))).join('');
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
