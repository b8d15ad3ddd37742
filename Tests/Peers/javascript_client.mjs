// A client of tidegate.v1 for Node and Deno. Usage: javascript_client.mjs URL   (PEER_SYMBOLS, PEER_SECONDS)
import process from "node:process";
import { watch } from "./checker.mjs";

const version = process.versions.deno ?? process.versions.node;
try {
  const { counts, extensions } = await watch(
    process.argv[2], process.env.PEER_SYMBOLS.split(","), Number(process.env.PEER_SECONDS ?? 4));
  console.log(`  ${version}${extensions ? `, ${extensions}` : ""}: ${JSON.stringify(counts)}`);
  process.exit(0);
} catch (error) {
  console.log(`  ${error.message}`);
  process.exit(1);
}
