export { parseStrictJson, StrictJsonError } from './parse-strict-json.ts';
