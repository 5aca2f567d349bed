#!/usr/bin/env -S node --disable-sigusr1
import { runCli } from './cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  environment: process.env,
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
});
