import type { SignatureAlgorithm } from '@gatehouse/signing';
import { UsageError } from '../command-line/command.ts';

/** @throws UsageError */
export function readAlgorithm(entered: string = 'SHA-256'): SignatureAlgorithm {
  const name = entered.toUpperCase().replace(/^SHA256$/, 'SHA-256');
  if (name === 'SHA-256' || name === 'MD5') {
    return name;
  }
  throw new UsageError('--algorithm must be SHA-256 or MD5. Version 2 always uses HMAC-SHA-256.');
}
