// Fails when the page's first load is heavier than it promises: 130 kB of JavaScript, gzipped. What is loaded later, by
// import(), does not count.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const limit = 130_000;
const dist = new URL('../dist/', import.meta.url);
const page = readFileSync(new URL('index.html', dist), 'utf8');
const scripts = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map((match) => match[1]);
const size = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, dist))).length, 0);

if (scripts.length === 0 || /<script(?![^>]*\ssrc=)|<style|\sstyle=/.test(page)) {
  console.error('dist/index.html has no script of its own, or one inline: the Content-Security-Policy forbids that');
  process.exit(1);
}
if (size > limit) {
  console.error(
    `the first load is ${size} bytes of gzipped JavaScript, over the limit of ${limit}: load a part of it later`,
  );
  process.exit(1);
}
console.log(`first load: ${(size / 1000).toFixed(1)} kB of gzipped JavaScript, of ${limit / 1000} kB`);
