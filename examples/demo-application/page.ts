export interface PageContent {
  /** The address of the "Sign in" button. */
  readonly signInAddress: string;
  /** The code in the address, before the authorization server has checked it. */
  readonly code?: string | undefined;
  readonly failure?: string;
  /** The gateway's reply to the call of the signed-in user. */
  readonly devices?: string;
}

export function renderPage(content: PageContent): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Demo application</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='%23b4560f'/></svg>">
<style>
:root { color-scheme: light dark; --action: #9a4a0c; --on-action: #fff; }
@media (prefers-color-scheme: dark) { :root { --action: #ffb27a; --on-action: #2b1400; } }
body { max-width: 40rem; margin: 0 auto; padding: 10vh 1rem 2rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
.action { display: inline-flex; align-items: center; box-sizing: border-box; min-height: 2.75rem; padding: 0.25rem 1.25rem; border: 0; border-radius: 0.5rem; background: var(--action); color: var(--on-action); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; }
.failure { padding: 0.75rem 1rem; border: 1px solid; border-radius: 0.5rem; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid; border-radius: 0.5rem; }
</style>
</head>
<body>
<main>
<h1>Demo application</h1>
${mainPart(content)}
</main>
</body>
</html>
`;
}

function mainPart({ signInAddress, code, failure, devices }: PageContent): string {
  if (devices !== undefined) {
    return `<p>You are signed in. The gateway returned your devices:</p>
${output('Devices', devices)}
${signIn(signInAddress, 'Sign in again')}`;
  }
  if (code !== undefined) {
    return `<p>The authorization server sent your browser here with this authorization code, which works once:</p>
${output('Authorization code', code)}
<form method="post"><input type="hidden" name="code" value="${escapeHtml(code)}">
<button class="action" type="submit">Redeem it and list my devices</button></form>`;
  }
  if (failure !== undefined) {
    return `<p class="failure" role="alert">${escapeHtml(failure)}</p>
${signIn(signInAddress, 'Sign in')}`;
  }
  return `<p>This is a third-party application. Sign in with Gatehouse to let it list your devices.</p>
${signIn(signInAddress, 'Sign in')}`;
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
