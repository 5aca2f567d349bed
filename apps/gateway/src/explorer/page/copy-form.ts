import type { CopiedCall } from './copied-calls/copied-call.ts';
import { curlCall } from './copied-calls/curl-call.ts';
import { javascriptCall } from './copied-calls/javascript-call.ts';
import { pythonCall } from './copied-calls/python-call.ts';
import { element, find, show } from './elements.ts';

const languages = { curl: curlCall, javascript: javascriptCall, python: pythonCall } as const;

/** Shows the call in the chosen language, and copies it. */
export function createCopyForm(): (call: CopiedCall) => void {
  const choice = find('language', HTMLSelectElement);
  const code = find('code', HTMLElement);
  let shown: CopiedCall | undefined;

  function showCode(): void {
    if (shown !== undefined) {
      code.textContent = languages[choice.value as keyof typeof languages](shown);
      show('copied', '');
    }
  }

  choice.addEventListener('change', showCode);
  find('copy', HTMLButtonElement).addEventListener('click', async () => {
    const text = code.textContent ?? '';
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    show('copied', element('span', {}, isCopied ? 'Copied.' : 'Select the text to copy it.'));
  });
  return (call) => {
    shown = call;
    find('calls', HTMLElement).hidden = false;
    showCode();
  };
}

/** The code belongs to the request that was shown before. */
export function hideCall(): void {
  find('calls', HTMLElement).hidden = true;
  show('code');
  show('copied');
}
