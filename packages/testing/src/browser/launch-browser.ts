import { type Browser, chromium } from 'playwright-core';

/** Starts Chromium. A test file needs one, because each context has its own cookies. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      // The applications of the tests do not exist, and no test needs the network.
      '--host-resolver-rules=MAP *.example ~NOTFOUND',
    ],
  });
}
