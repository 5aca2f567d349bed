/**
 * Web applications, each written as the documentation of its library shows (`applications/`). The
 * test drives all of them in the same way: sign in, allow, read the user from the application, sign
 * out.
 */
import { rmSync } from 'node:fs';
import { freePort, makeCertificate } from '@gatehouse/testing';
import { launchBrowser } from '@gatehouse/testing/browser';
import { afterAll, test } from '@jest/globals';
import { makeServerFolder, startApache } from './apache.ts';
import { alice, secureKey, signInAndAllow, startServerFor } from './sign-in-and-allow.ts';
import { type Application, startApplication } from './start-application.ts';

interface WebApplication {
  readonly name: string;
  /** By default, Node runs the file with the name of the application. */
  readonly start?: (environment: Readonly<Record<string, string>>) => Promise<Application>;
  readonly callback: string;
  readonly scheme?: 'https';
  /** Members of the client that differ from those of the other applications. */
  readonly registration?: Readonly<Record<string, unknown>>;
  /** A button of the application before it sends the browser to Gatehouse. */
  readonly signInButton?: string;
  /** A button of the application that signs out. */
  readonly signOutButton?: string;
  /** The application signs the user out of Gatehouse as well. */
  readonly endsSession?: boolean;
}

const applications: readonly WebApplication[] = [
  {
    name: 'auth-js',
    callback: '/auth/callback/gatehouse',
    signInButton: 'Sign in with Gatehouse',
    signOutButton: 'Sign out',
  },
  {
    // By default, it receives an ID token by form_post, which needs https.
    name: 'express-openid-connect',
    callback: '/callback',
    scheme: 'https',
    registration: { grantTypes: ['implicit'] },
    endsSession: true,
  },
  { name: 'passport-openidconnect', callback: '/cb' },
  { name: 'openid-client-5', callback: '/cb', endsSession: true },
  { name: 'openid-client-6', callback: '/cb', endsSession: true },
  {
    name: 'omniauth',
    start: (environment) => startApplication(['/usr/bin/ruby', 'omniauth.rb'], environment),
    callback: '/users/auth/openid_connect/callback',
    signInButton: 'Gatehouse',
  },
  {
    name: 'mod-auth-openidc',
    start: (environment) => startApache('mod-auth-openidc.conf', folder, environment),
    callback: '/secure/redirect_uri',
    endsSession: true,
  },
];

/** Shorter than the test, so that a failure shows the page. */
const STEP_MILLISECONDS = 10_000;

const folder = makeServerFolder();
const certificate = makeCertificate(folder, ['127.0.0.1']);
const ports = new Map<string, number>();
for (const { name } of applications) {
  ports.set(name, await freePort());
}
const originOf = ({ name, scheme }: WebApplication) =>
  // The implicit grant does not allow redirects to localhost.
  scheme === 'https'
    ? `https://127.0.0.1:${ports.get(name)}`
    : `http://localhost:${ports.get(name)}`;
const system = await startServerFor(
  applications.map((application) => ({
    clientId: application.name,
    redirectUris: [`${originOf(application)}${application.callback}`],
    // express-openid-connect sends the origin without a path.
    postLogoutRedirectUris: [originOf(application), `${originOf(application)}/`],
    ...application.registration,
  })),
);
const browser = await launchBrowser();
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

test.each(applications)(
  'a user signs in, sees name and email address, and signs out: $name',
  async (definition) => {
    const { name, start = runWithNode(name) } = definition;
    const application = await start({
      ISSUER: system.authorizationServerUrl,
      CLIENT_ID: name,
      CLIENT_SECRET: secureKey,
      PORT: String(ports.get(name)),
      CERTIFICATE_FILE: certificate.certificateFile,
      KEY_FILE: certificate.keyFile,
    });
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await context.newPage();
    page.setDefaultTimeout(STEP_MILLISECONDS);
    const click = (button: string) => page.getByRole('button', { name: button }).click();
    try {
      await page.goto(originOf(definition));
      await page.getByRole('link', { name: 'Sign in' }).click();
      if (definition.signInButton !== undefined) {
        await click(definition.signInButton);
      }
      await signInAndAllow(page);
      await page.getByText(`Signed in as ${alice.name}, ${alice.email}.`).waitFor();

      await page.getByRole('link', { name: 'Sign out' }).click();
      if (definition.signOutButton !== undefined) {
        await click(definition.signOutButton);
      }
      await page.getByText('Signed out.').waitFor();
      if (definition.endsSession === true) {
        await page.getByRole('link', { name: 'Sign in' }).click();
        await page.getByLabel('Username').waitFor();
      }
    } catch (error) {
      const shown = await page.locator('body').innerText();
      throw new Error(`${page.url()}\n${shown}\n${application.output()}`, { cause: error });
    } finally {
      await context.close();
      await application.stop();
    }
  },
);

function runWithNode(name: string): NonNullable<WebApplication['start']> {
  return (environment) => startApplication([process.execPath, `${name}.mjs`], environment);
}
