export { accessibilityProblems } from './accessibility-problems.ts';
export { launchBrowser } from './launch-browser.ts';
