// Renews dist/vendor from npm at the versions of package-lock.json, or, with --check, proves that every byte there comes from them.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const vendor = join(here, 'dist', 'vendor');
const scratch = mkdtempSync(join(tmpdir(), 'vendor-'));
const files = new Map();
try {
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(here, name), join(scratch, name));
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: scratch, stdio: ['ignore', 'ignore', 'inherit'] });
  const read = (path) => readFileSync(join(scratch, 'node_modules', path));
  files.set('markdown-it.js', read('markdown-it/dist/browser/markdown-it.esm.min.mjs'));
  files.set('purify.js', read('dompurify/dist/purify.es.mjs'));
  files.set('purify.LICENSE', read('dompurify/LICENSE'));
  // markdown-it's browser file holds its own dependencies too.
  const bundled = ['markdown-it', 'entities', 'linkify-it', 'mdurl', 'punycode.js', 'uc.micro'];
  files.set('markdown-it.LICENSE', Buffer.from(bundled.map((name) => {
    const licence = readdirSync(join(scratch, 'node_modules', name)).find((file) => /^licen[cs]e/i.test(file));
    return `${name}\n\n${read(join(name, licence)).toString().trim()}\n`;
  }).join('\n----\n\n')));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

if (process.argv.includes('--check')) {
  const wrong = [...new Set([...files.keys(), ...readdirSync(vendor)])].filter((name) => {
    if (!files.has(name)) return true;
    try { return !readFileSync(join(vendor, name)).equals(files.get(name)); } catch { return true; }
  });
  if (wrong.length) {
    console.error(`dist/vendor differs from npm: ${wrong.join(', ')}; run node vendor.mjs and look at the difference`);
    process.exit(1);
  }
  console.log(`dist/vendor is what npm has: ${[...files.keys()].join(', ')}`);
} else {
  for (const [name, bytes] of files) writeFileSync(join(vendor, name), bytes);
  console.log(`wrote ${[...files.keys()].join(', ')}`);
}
