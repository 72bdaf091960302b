// Times as a person in this browser's zone reads them.

/** dateOf turns a Slack ts ("1700000000.000100") or Unix seconds into a Date. */
export function dateOf(ts) { return new Date(parseFloat(ts) * 1000); }

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

export const clockTime = (ts) => clock.format(dateOf(ts));
export const fullTime = (ts) => full.format(dateOf(ts));

/** dayKey is equal for two times of one local day. */
export const dayKey = (ts) => dateOf(ts).toDateString();

/** dayName is Today, Yesterday or a date. */
export function dayName(ts) {
  const key = dayKey(ts);
  const now = new Date();
  if (key === now.toDateString()) return 'Today';
  const before = new Date(now);
  before.setDate(now.getDate() - 1);
  return key === before.toDateString() ? 'Yesterday' : day.format(dateOf(ts));
}

/** ago is a short distance in words: "now", "5 min ago", "3 h ago", then a date. */
export function ago(ts, now = Date.now()) {
  const minutes = Math.floor((now - dateOf(ts).getTime()) / 60000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return short.format(dateOf(ts));
}

/** formatDate fills the tokens of Slack's <!date^…> in the local zone. */
export function formatDate(seconds, format) {
  const date = dateOf(seconds);
  const make = (options) => new Intl.DateTimeFormat(undefined, options).format(date);
  const tokens = {
    date_num: () => `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`,
    date: () => make({ dateStyle: 'long' }),
    date_short: () => make({ dateStyle: 'medium' }),
    date_long: () => make({ dateStyle: 'full' }),
    date_pretty: () => dayName(seconds), date_short_pretty: () => dayName(seconds), date_long_pretty: () => dayName(seconds),
    time: () => clockTime(seconds),
    time_secs: () => make({ timeStyle: 'medium' }),
    ago: () => ago(seconds),
    day_divider_pretty: () => dayName(seconds),
  };
  return String(format).replace(/\{(\w+)\}/g, (whole, name) => (tokens[name] ? tokens[name]() : whole));
}
