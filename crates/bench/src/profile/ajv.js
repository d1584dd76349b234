// The other side of `./bench --only profile`: ajv, asked over standard input. Usage: node ajv.js PACKAGE_FOLDER FILE
// The file holds {"schema": …, "texts": {"good": [text, …], "bad": [text, …]}}. A line `good MILLISECONDS` asks for one round
// over these texts; the answer is a line `JUDGED ACCEPTED SECONDS`.
"use strict";
const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");

const [folder, file] = process.argv.slice(2);
const Ajv = createRequire(`${folder}/`)("ajv/dist/2020").default;
const { schema, texts } = JSON.parse(readFileSync(file, "utf8"));
// All faults, as a form needs them, and defaults filled in, as ours does. Formats have their patterns beside them.
const judge = new Ajv({ allErrors: true, useDefaults: true, validateFormats: false, strict: false }).compile(schema);

createInterface({ input: process.stdin }).on("line", (line) => {
  const [kind, milliseconds] = line.split(" ");
  const all = texts[kind];
  const began = process.hrtime.bigint();
  const end = began + BigInt(milliseconds) * 1000000n;
  let judged = 0;
  let accepted = 0;
  let now;
  do {
    for (let times = 0; times < 64; times += 1) {
      for (const text of all) {
        if (judge(JSON.parse(text))) accepted += 1;
      }
    }
    judged += 64 * all.length;
    now = process.hrtime.bigint();
  } while (now < end);
  process.stdout.write(`${judged} ${accepted} ${Number(now - began) / 1e9}\n`);
});
