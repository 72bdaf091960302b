// Characters that nobody sees, made visible: what stands here would otherwise hide words, or turn their order around.
// The rule is the one by which the app's cards show them: what belongs to an emoji or to a script's spelling stays.

const JOINING = '[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Khmer}\\p{Script=Myanmar}]';
const EMOJI = '\\p{Extended_Pictographic}\\p{Emoji_Modifier}?[\\uFE0E\\uFE0F]?';
const SPELLING = [
  '\\u{1F3F4}\\u{E0067}\\u{E0062}(?:\\u{E0065}\\u{E006E}\\u{E0067}|\\u{E0073}\\u{E0063}\\u{E0074}|\\u{E0077}\\u{E006C}\\u{E0073})\\u{E007F}', // three flags
  `${EMOJI}(?:\\u200D${EMOJI})*`, '[0-9#*]\\uFE0F\\u20E3', `${JOINING}[\\u200C\\u200D](?=${JOINING})`,
].join('|');
const TAGS = '[\\u{E0000}-\\u{E007F}]+';
const UNSEEN = '[\\p{Cf}\\p{Co}\\p{Zl}\\p{Zp}\\p{Variation_Selector}\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F-\\u009F\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u2800\\u3164\\uFFA0\\uFFFC]';

const any = new RegExp(UNSEEN, 'u');
const each = new RegExp(`(${SPELLING})|(${TAGS})|(${UNSEEN})\\3*`, 'gu');

/** hidden cuts text at what is not seen: a list of strings, and of {shown} for each mark to be put there. null: all is seen. */
export function hidden(text) {
  if (!any.test(text)) return null;
  const out = [];
  let last = 0;
  for (const found of text.matchAll(each)) {
    const [run, spelling, tags, one] = found;
    if (spelling) continue;
    const n = tags ? [...tags].length : run.length / one.length;
    const shown = tags ? `‹${n} tag characters: ${[...tags].map((c) => String.fromCharCode(c.codePointAt(0) & 0x7f).replace(/[\u0000-\u001f\u007f]/, '·')).join('')}›`
      : `‹U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}${n > 1 ? ` ×${n}` : ''}›`;
    out.push(text.slice(last, found.index), { shown });
    last = found.index + run.length;
  }
  out.push(text.slice(last));
  return out;
}
