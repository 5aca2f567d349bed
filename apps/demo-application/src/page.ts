interface PageContent {
  readonly code?: string;
  readonly failure?: string;
  readonly result?: string;
}

export function renderPage({ code, failure, result }: PageContent): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Demo application</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 40rem; margin: 10vh auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
button { min-height: 2.75rem; padding: 0 1.25rem; font: inherit; font-weight: 600; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid; border-radius: 0.5rem; }
</style>
</head>
<body>
<h1>Demo application</h1>
${code === undefined ? '' : redeemForm(code)}
${failure === undefined ? '' : `<p>The sign-in failed: ${escapeHtml(failure)}</p>`}
${result === undefined ? '' : `<p>The application redeemed the code. The gateway returned your devices:</p><pre>${escapeHtml(result)}</pre>`}
</body>
</html>
`;
}

function redeemForm(code: string): string {
  return `<p>The sign-in succeeded and returned this authorization code, which works once:</p>
<pre>${escapeHtml(code)}</pre>
<form method="post"><input type="hidden" name="code" value="${escapeHtml(code)}">
<button type="submit">Redeem it and list my devices</button></form>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
