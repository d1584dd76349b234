// Writes src/api/schema.d.ts from the contract, or with --check says whether it still fits.
// Refusals all have one shape, which src/api/error.ts reads; leaving them out makes the file a quarter as long.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

const contract = fileURLToPath(new URL('../../docs/api/openapi.json', import.meta.url));
const target = fileURLToPath(new URL('../src/api/schema.d.ts', import.meta.url));

const api = JSON.parse(await readFile(contract, 'utf8'));
for (const path of Object.values(api.paths)) {
  for (const operation of Object.values(path)) {
    for (const status of Object.keys(operation.responses ?? {})) {
      if (!status.startsWith('2')) delete operation.responses[status];
    }
  }
}
const types = await openapiTS(api, { rootTypes: true, rootTypesNoSchemaPrefix: true });
const text = `// Generated from docs/api/openapi.json by \`npm run types\`; do not edit.\n${astToString(types)}`;

if (process.argv.includes('--check')) {
  if ((await readFile(target, 'utf8')) !== text) {
    console.error('src/api/schema.d.ts does not fit docs/api/openapi.json: run `npm --prefix web run types`');
    process.exit(1);
  }
} else {
  await writeFile(target, text);
}
