/** The pages of the demo application: three steps, and what each of them is for. */

export interface PageContent {
  /** The address of the "Sign in" button. */
  readonly signInAddress: string;
  /** The code in the address, before the authorization server has checked it. */
  readonly code?: string | undefined;
  readonly failure?: string;
  /** The call of the signed-in user. */
  readonly result?: {
    /** Of the gateway. */
    readonly reply: unknown;
    readonly token: {
      readonly beginning: string;
      readonly expiresInSeconds: number;
      readonly scope: string;
    };
    /** The page on which the user ends the access. */
    readonly accountAddress: string;
  };
}

const steps = ['Sign in', 'Redeem the code', 'Call the API'] as const;

const styles = `
:root { color-scheme: light dark; --ground: #f6f1ec; --card: #fff; --text: #221a14; --quiet: #62564c; --line: #e2d8ce; --soft: #faf6f2; --action: #9a4a0c; --on-action: #fff; }
@media (prefers-color-scheme: dark) { :root { --ground: #171310; --card: #221c18; --text: #f3ece6; --quiet: #b8aba0; --line: #3d342d; --soft: #2b241f; --action: #ffb27a; --on-action: #2b1400; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 44rem; margin: 0 auto; padding: 2rem 1rem 3rem; }
.brand { display: flex; align-items: center; gap: 0.625rem; margin: 0 0 1.5rem; font-weight: 700; }
.brand svg { flex: none; fill: var(--action); }
.brand small { color: var(--quiet); font-size: 0.875rem; font-weight: 400; }
.steps { display: flex; gap: 0.5rem; margin: 0 0 1rem; padding: 0; list-style: none; counter-reset: step; font-size: 0.875rem; color: var(--quiet); }
.steps li { flex: 1; padding-top: 0.5rem; border-top: 4px solid var(--line); counter-increment: step; }
.steps li::before { content: counter(step) ". "; }
.steps .done { border-color: var(--action); }
.steps [aria-current] { border-color: var(--action); color: var(--text); font-weight: 700; }
.card { padding: 1.75rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--card); }
.card + .card { margin-top: 1rem; }
.card > :last-child, .card > details:last-child pre { margin-bottom: 0; }
.card + p { margin: 1.5rem 0 0; }
h1 { margin: 0 0 0.5rem; font-size: 1.625rem; line-height: 1.25; text-wrap: balance; }
h2 { margin: 0 0 0.75rem; font-size: 1.125rem; }
p { margin: 0 0 1rem; }
.quiet, dd { color: var(--quiet); }
.action { display: inline-flex; align-items: center; justify-content: center; min-height: 3rem; padding: 0.5rem 1.5rem; border: 0; border-radius: 0.625rem; background: var(--action); color: var(--on-action); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; }
a:not(.action) { color: var(--action); }
:focus-visible { outline: 3px solid var(--action); outline-offset: 2px; }
.failure { margin-top: 1rem; padding: 0.75rem 1rem; border-inline-start: 4px solid; border-radius: 0.5rem; background: var(--soft); }
pre { overflow-x: auto; margin: 0 0 1rem; padding: 1rem; border-radius: 0.625rem; background: var(--soft); font: 0.875rem/1.5 ui-monospace, monospace; white-space: pre-wrap; }
dl { margin: 0; }
dt { font-weight: 600; }
dd { margin: 0 0 1rem; }
dd:last-child { margin: 0; }
code { font: 0.9375em ui-monospace, monospace; }
.devices { margin: 0 0 1rem; padding: 0; list-style: none; }
.devices li { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0 1rem; padding: 0.875rem 1rem; border-radius: 0.625rem; background: var(--soft); }
.devices li + li { margin-top: 0.5rem; }
summary { min-height: 2.75rem; padding-block: 0.5rem; cursor: pointer; }
@media (max-width: 30rem) { .action { width: 100%; } .card { padding: 1.25rem; } .brand small { display: none; } }
`;

export function renderPage(content: PageContent): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Demo application</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='%23b4560f'/></svg>">
<style>${styles}</style>
</head>
<body>
<main>
<p class="brand"><svg viewBox="0 0 16 16" width="28" height="28" aria-hidden="true"><circle cx="8" cy="8" r="7"/></svg><span>Demo application</span><small>by another company, which uses your platform</small></p>
${mainPart(content)}
</main>
</body>
</html>
`;
}

function mainPart({ signInAddress, code, failure, result }: PageContent): string {
  if (result !== undefined) {
    return resultPart(result, signInAddress);
  }
  if (code !== undefined) {
    return `${progress(1)}
<section class="card">
<h1>You are back, with a code</h1>
<p>The authorization server sent your browser here with this authorization code:</p>
${output('Authorization code', code)}
<form method="post"><input type="hidden" name="code" value="${escapeHtml(code)}">
<button class="action" type="submit">Redeem it and list my devices</button></form>
</section>
<section class="card">
<h2>Why a code, and not a token?</h2>
<p class="quiet">Addresses end up in histories and logs. A code in an address is worth nothing alone: it works once, within ten minutes, and only with the key of this application. Its server redeems it for an access token, which your browser never sees.</p>
</section>`;
  }
  if (failure !== undefined) {
    return `${progress(0)}
<section class="card">
<h1>That did not work</h1>
<p class="failure" role="alert">${escapeHtml(failure)}</p>
${signIn(signInAddress, 'Sign in')}
</section>`;
  }
  return `${progress(0)}
<section class="card">
<h1>Your devices, in an application of your choice</h1>
<p>Sign in with Gatehouse to let this application list your devices.</p>
${signIn(signInAddress, 'Sign in with Gatehouse')}
</section>
<section class="card">
<h2>What happens next</h2>
<dl>
<dt>1. Sign in</dt><dd>Your browser goes to the authorization server. You type your password there, and you decide what this application may do.</dd>
<dt>2. Redeem the code</dt><dd>You come back with a code. The server of this application redeems it for an access token.</dd>
<dt>3. Call the API</dt><dd>The application calls the gateway with the token and shows your devices.</dd>
</dl>
</section>`;
}

function resultPart(
  { reply, token, accountAddress }: NonNullable<PageContent['result']>,
  signInAddress: string,
): string {
  const minutes = Math.round(token.expiresInSeconds / 60);
  return `${progress(2)}
<section class="card">
<h1>Your devices</h1>
<p>You are signed in.</p>
${devices(reply)}
<details><summary>The reply of the gateway</summary>
${output('Reply', JSON.stringify(reply, null, 2))}
</details>
</section>
<section class="card">
<h2>What this application has now</h2>
<dl>
<dt>An access token: <code>${escapeHtml(token.beginning)}…</code></dt><dd>A random string that contains no data. It is valid for ${minutes} minutes and allows: <code>${escapeHtml(token.scope)}</code>. Only the server of this application has it.</dd>
<dt>No password</dt><dd>You typed it at the authorization server only.</dd>
<dt>No way around the gateway</dt><dd>The gateway checked the token and sent the device service a signed one of its own, which names you and this application.</dd>
<dt>Access until you end it</dt><dd>On <a href="${escapeHtml(accountAddress)}">your account page</a> you see this application, and you can end its access at once.</dd>
</dl>
</section>
${signIn(signInAddress, 'Sign in again')}`;
}

/** The steps, of which the ones before `current` are done. */
function progress(current: number): string {
  const items = steps.map((name, i) => {
    const mark = i === current ? ' aria-current="step"' : i < current ? ' class="done"' : '';
    return `<li${mark}>${name}</li>`;
  });
  return `<ol class="steps" aria-label="Progress">${items.join('')}</ol>`;
}

function devices(reply: unknown): string {
  const list: unknown = Object(reply).result;
  const items = (Array.isArray(list) ? list : []).map((device: unknown) => {
    const { id = '', name = id } = Object(device);
    return `<li><strong>${escapeHtml(String(name))}</strong> <code>${escapeHtml(String(id))}</code></li>`;
  });
  return items.length === 0
    ? '<p>The gateway returned no devices.</p>'
    : `<p>The gateway returned your devices:</p><ul class="devices">${items.join('')}</ul>`;
}

/** A long line scrolls, so the keyboard must be able to focus the text. */
function output(name: string, text: string): string {
  return `<pre tabindex="0" role="region" aria-label="${name}">${escapeHtml(text)}</pre>`;
}

function signIn(address: string, label: string): string {
  return `<p><a class="action" href="${escapeHtml(address)}">${label}</a></p>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
