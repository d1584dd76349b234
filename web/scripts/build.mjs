// Builds into dist/ and packs what is text, so that the server can send it packed without doing so itself.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

// dist/.gitignore stays: the folder is in every checkout, empty.
for (const name of await readdir(dist).catch(() => [])) {
  if (name !== '.gitignore') await rm(join(dist, name), { recursive: true });
}
await build({ root, logLevel: 'warn' });

async function pack(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await pack(path);
    else if (/\.(html|js|css|svg)$/.test(entry.name)) {
      await writeFile(`${path}.gz`, await promisify(gzip)(await readFile(path), { level: 9 }));
    }
  }
}
await pack(dist);
