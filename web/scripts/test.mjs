// Bundles the unit tests (they are TypeScript) and runs them with Node's own test runner, then checks that the generated
// types fit the contract.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = await mkdtemp(join(root, 'node_modules/.unit-'));
let status = 1;
try {
  const tests = (await readdir(join(root, 'tests'))).filter((name) => name.endsWith('.test.ts'));
  await build({
    entryPoints: tests.map((name) => join(root, 'tests', name)),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    // As for the browser: what the form renderer has for Node cannot be imported from modules.
    mainFields: ['module', 'main'],
    logLevel: 'warning',
  });
  const files = tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
  const run = (...args) => spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
  status = run('--test', ...files) || run('scripts/types.mjs', '--check');
} finally {
  await rm(out, { recursive: true });
}
process.exit(status);
