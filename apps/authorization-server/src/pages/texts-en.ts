import { passwordRules } from '@gatehouse/identity';

/** The texts of the pages. Every language has the same ones. */
export type Texts = Omit<typeof english, 'scopes'> & {
  readonly scopes: Readonly<Record<string, string>>;
  /** Of a language that is written from right to left. */
  readonly direction?: 'rtl';
};
type Group =
  | 'scopes'
  | 'passwordProblems'
  | 'passkeyProblems'
  | 'accountNotices'
  | 'errorTitles'
  | 'direction'
  | 'accountProblems'
  | 'mails';
export type TextName = Exclude<keyof Texts, Group>;

export const english = {
  language: 'en',

  // Every page
  languageName: 'English',
  languageMenu: 'Language',
  help: 'Help',
  privacy: 'Privacy',
  terms: 'Terms',
  helpContact: 'If you need help, contact {contact}.',
  showPassword: 'Show password',

  // Sign-in and consent
  signInLead: 'to continue to {client}',
  signInLeadAccount: 'to see and manage your account',
  username: 'Username',
  password: 'Password',
  signIn: 'Sign in',
  rememberMe: 'Stay signed in on this browser',
  signInFailed: 'That username and password do not match an account. Check both and try again.',
  signInFailedWait: 'After several wrong attempts, wait 15 minutes.',
  consentTitle: '{client} asks for access',
  consentLead: 'If you allow it, this application will be able to:',
  signedInAs: 'Signed in as {name}',
  useAnotherAccount: 'Use another account',
  keepAccount: 'Continue as {name}',
  organization: 'Organization',
  consentDestination: 'Continues at',
  consentToDevice: 'Your device',
  consentApplicationId: 'Application ID',
  applicationId: 'Application ID: {clientId}',
  consentSite: 'You are giving access to',
  consentUnknownSite:
    'The operator of this server does not know this website. Allow access only if you started this yourself and trust the website.',
  endAnyTime: 'You can end this access at any time on your account page.',
  allow: 'Allow',
  deny: 'Deny',
  chooseAccountTitle: 'Choose an account',
  returningTitle: 'Back to the application',
  welcomeTitle: 'One account for your devices',
  welcomeLead: 'Sign in to see your profile and the applications with access to your account.',
  openAccount: 'Go to your account',
  connectDevice: 'Connect a device',
  signInLinkNeedsScript:
    'Did an application send you here to sign in? Its link needs JavaScript. Turn JavaScript on for this address, then open the link again.',

  // Devices
  deviceLead: 'Enter the code that your device shows.',
  deviceLeadPrefilled:
    'Compare this code with the one on your device. Continue only if they match.',
  userCode: 'Code',
  userCodeHint: '8 letters, like BCDF-GHJK',
  continue: 'Continue',
  deviceConfirmTitle: 'Is this your device?',
  deviceConfirmLead: 'Your device must show exactly this code:',
  deviceGets:
    'On the device with this code, {client} gets access to your account. You allow it to:',
  deviceAsks:
    'On the device with this code, {client} asks for access to your account. You decide about the access on the next pages.',
  deviceWarning:
    'Stop here if someone sent you this code or a link to this page. The person with the device gets the access that you allow.',
  deviceConfirm: 'Yes, the codes match',
  deviceCancel: 'No, cancel',
  deviceDoneTitle: 'Your device is connected',
  deviceDone: '{client} continues in a few seconds. You can close this page.',
  deviceStoppedTitle: 'Nothing was connected',
  deviceStopped: 'Your device has no access. It will show that you declined.',
  deviceAnother: 'Enter another code',
  deviceNotFound: 'This code does not exist. Compare it with the code on your device.',
  deviceExpired: 'This code has expired. Get a new code on your device and enter it.',
  deviceUsed: 'This code was already used. Get a new code on your device and enter it.',
  deviceStale: 'This page was open for too long or in two tabs. Enter the code again.',
  deviceCookiesBlocked:
    'Your browser sent no cookies, so it may block them. Allow cookies for this address, then enter the code again.',
  deviceRefused:
    'This device cannot be connected. Get a new code on the device, or contact its manufacturer.',
  deviceTooMany: 'Too many wrong codes. Wait {time}, then try again.',
  deviceSignInFirst:
    'Too many wrong codes were entered here. Sign in first, then enter your code, or wait {time}.',

  // Sign-in with an upstream provider
  upstreamContinue: 'Continue with {provider}',
  upstreamsTitle: 'Other accounts that sign you in',
  upstreamConnected: 'Connected',
  upstreamConnect: 'Connect {provider}',
  upstreamDisconnect: 'Disconnect {provider}',
  upstreamOnlyWay: 'It is your only way to sign in, so it cannot be disconnected.',

  // Sign-out of this browser
  logoutTitle: 'Sign out?',
  logoutLead: 'You are signed in as {name}.',
  logoutEnds: 'Signing out ends this browser’s session and the access of these applications:',
  logoutEndsNothing: 'Signing out ends this browser’s session.',
  logoutKeepsDevices:
    'Devices that you connected with a code stay connected. You can end their access on your account page.',
  logoutKeepsUpstreams: 'Signing out here does not sign you out of {providers}.',
  signOut: 'Sign out',
  staySignedIn: 'Stay signed in',
  signedOutTitle: 'You are signed out',
  signedOut: 'On a shared computer, close the browser as well.',
  signInAgain: 'Sign in again',

  // Account
  accountTitle: 'Your account',
  accountName: 'Name',
  accountEmail: 'Email',
  accountEmailUnverified: 'not verified',
  accountRoles: 'Roles',
  accountId: 'Account ID',
  applicationsTitle: 'Applications with access',
  applicationsNone: 'No application has access to your account.',
  applicationSince: 'Since {day}',
  applicationGone: 'This application is no longer registered here.',
  revoke: 'End access',
  revokeLabel: 'End access of {client}',
  passwordLead: 'Changing it signs out your other browsers, every application and every device.',
  changePassword: 'Change password',
  currentPassword: 'Current password',
  newPassword: 'New password',
  newPasswordHint: 'At least 8 characters. A few words in a row are easy to remember.',
  repeatPassword: 'New password again',
  passwordProblems: {
    wrong: 'The current password is wrong.',
    short: `The new password ${passwordRules.short}.`,
    long: `The new password ${passwordRules.long}.`,
    username: `The new password ${passwordRules.username}.`,
    product: `The new password ${passwordRules.product}.`,
    common: `The new password ${passwordRules.common}.`,
    pattern: `The new password ${passwordRules.pattern}.`,
    same: 'The new password is the one you have now.',
    differs: 'The two new passwords are not the same.',
  },
  accountNotices: {
    revoked: 'The access was ended.',
    session: 'The session was ended.',
    profile: 'Your profile was saved.',
    email: 'Your email address was saved.',
    verify: 'An email is on its way. Follow its link to verify the address.',
    password: 'Your password was changed. Everything else was signed out.',
    factorsRemoved: 'Two-step sign-in is off.',
    passkeyAdded: 'The passkey was added.',
    connected: 'The account was connected.',
    disconnected: 'The account was disconnected.',
  },
  // Account: browsers, profile, own data
  browsersTitle: 'Browsers',
  browserOn: '{browser} on {system}',
  browserUnknown: 'Unknown browser',
  browserCurrent: 'This browser',
  browserSince: 'Signed in {day}',
  browserUsed: 'Last used {day}',
  browserUsedFrom: 'Last used {day} from {address}',
  browsersMore: 'And {count} more. To end them as well, sign out everywhere.',
  endSession: 'End this session',
  endSessionLabel: 'End this session: {browser}',
  profileTitle: 'Profile',
  profileEdit: 'Edit profile',
  givenName: 'Given name',
  familyName: 'Family name',
  profileLanguageHint: 'For emails to you.',
  languageOfBrowser: 'As in your browser',
  profileProblem: 'Correct this field: {field}.',
  profileTooOften: 'You changed your profile too often. Wait an hour.',
  emailEdit: 'Change email',
  emailLead: 'You can sign in with a new address once it is verified.',
  save: 'Save',
  dataTitle: 'Your data',
  dataLead: 'Your profile, ways to sign in, browsers and applications as a JSON file.',
  dataDownload: 'Download',
  removeAccount: 'Remove account',
  removeQuestion: 'Remove your account?',
  removeLead:
    'This signs you out everywhere, and every application loses access. It cannot be undone.',
  removeConfirm: 'To confirm, enter your username: {username}',
  removeProblem: 'This is not your username.',
  accountRemovedTitle: 'Your account was removed',
  accountRemoved: 'You are signed out everywhere.',

  // New passwords, at sign-in and by a link
  mustChangeTitle: 'Choose a new password',
  mustChangeLead: 'Your password has to be changed before you continue.',
  setPassword: 'Set password',
  resetTitle: 'Choose a password',
  resetLead: 'It replaces the old one and signs you out everywhere.',
  resetDoneTitle: 'Your password is set',
  resetDone: 'You can sign in with it now.',

  // Second factors, at sign-in and on the account page
  codeTitle: 'Enter your code',
  codeLead: 'Open your authenticator app and enter its code.',
  code: 'Code',
  codeHint: 'Without your phone, enter a recovery code.',
  codeWrong: 'This code is wrong, or was already used. Wait for the next one.',
  enrollTitle: 'Set up an authenticator app',
  enrollLead: 'Scan the picture with an authenticator app on your phone, then enter its code.',
  enrollDecline: 'Not now',
  appQrCode: 'QR code for the app',
  appKey: 'Without a camera, enter this key in the app: {key}',
  appOpen: 'Open the app on this device',
  appCode: 'Code from the app',
  appCodeWrong: 'This code is wrong. Check the clock of your phone, and enter the next code.',
  recoveryTitle: 'Your recovery codes',
  recoveryLead: 'If you lose your phone, each of these codes signs you in once.',
  recoveryOnce: 'Print or save them now. They are not shown again.',
  recoveryLeft: 'Recovery codes left: {codes}.',
  recoveryRenew: 'Get new recovery codes',
  factorTitle: 'Two-step sign-in',
  factorLead: 'In addition to your password, sign in with a code from your phone.',
  factorState: 'On since {since}. Last used: {used}.',
  factorTurnOn: 'Turn on',
  factorManage: 'Manage',
  factorTurnOff: 'Turn off',
  factorReplace: 'Use another app',

  // Passkeys, at sign-in and on the account page
  passkey: 'Passkey',
  passkeySignIn: 'Sign in with a passkey',
  passkeyUse: 'Use your passkey',
  passkeyLead: 'Continue with the passkey that you added to your account.',
  passkeyFailed: 'The passkey was not accepted. Try again, or use another way to sign in.',
  passkeyNeedsScript: 'Passkeys need JavaScript. Turn it on for this address.',
  passkeysTitle: 'Passkeys',
  passkeysLead:
    'With a passkey, you sign in with your fingerprint, face or screen lock instead of a password.',
  passkeysCount: 'Passkeys that can sign in: {count}',
  passkeyAdd: 'Add a passkey',
  passkeyName: 'Name of the passkey',
  passkeyNewName: 'New name of {name}',
  passkeyRename: 'Rename',
  passkeyRemove: 'Remove',
  passkeyRemoveLabel: 'Remove {name}',
  passkeyState: 'Added on {since}. Last used: {used}.',
  passkeyUnused: 'never',
  passkeyBackedUp: 'It has a backup.',
  passkeyProblems: {
    wrong: 'The passkey was not added. Try again.',
    exists: 'You have this passkey already.',
    full: 'You have 10 passkeys. Remove one before you add another.',
  },

  // Forgotten passwords
  forgotPassword: 'Forgot password?',
  forgotTitle: 'Forgot your password?',
  forgotLead: 'You get an email with a link to choose a new one.',
  usernameOrEmail: 'Username or email',
  sendLink: 'Send link',
  mailSentTitle: 'Check your email',
  forgotSent:
    'If the account has a verified email address, an email with a link is on its way. The link works for one hour.',
  mailSentHint: 'No email after a few minutes? Look in your spam folder.',
  backToSignIn: 'Back to sign-in',

  // New accounts and addresses
  createAccount: 'Create an account',
  createAccountTitle: 'Create your account',
  registerLead: 'Enter your email address. You get an email with a link to continue.',
  registerSent: 'An email is on its way. Follow its link to continue.',
  addressInvalid: 'This is not an email address.',
  addressDomains: 'Enter an address that ends with {domains}.',
  createAccountLead: 'For {email}, at {organization}.',
  createAccountButton: 'Create account',
  accountProblems: {
    name: 'Enter a name.',
    username: 'Choose a username without @ and without blanks at its ends.',
    taken: 'This username is taken. Choose another one.',
  },
  accountCreatedTitle: 'Your account is ready',
  accountCreated: 'You can sign in now.',
  verifyTitle: 'Verify your email address',
  verifyLead: 'Is {email} your address?',
  confirmAddress: 'Yes, verify it',
  verifyDoneTitle: 'Your address is verified',
  verifyDone: 'You can sign in with it.',

  // Mails
  mails: {
    reset: {
      subject: 'Choose a new password at {host}',
      lead: 'Someone asked for a new password of your account {username} at {host}.',
      label: 'Choose a new password',
    },
    verify: {
      subject: 'Verify your email address at {host}',
      lead: 'Verify that this address belongs to your account {username} at {host}.',
      label: 'Verify the address',
    },
    register: {
      subject: 'Create your account at {host}',
      lead: 'Someone asked for an account with this address at {host}, in the organization {organization}.',
      label: 'Create the account',
    },
    exists: {
      subject: 'You have an account at {host}',
      lead: 'Someone asked for an account with this address at {host}. You already have one: {username}.',
      label: 'Go to your account',
    },
    changed: {
      subject: 'Your account at {host} was changed',
      lead: 'This changed in your account {username} at {host}: {change}.',
      label: 'Go to your account',
    },
    invite: {
      subject: 'Invitation to {organization}',
      lead: '{organization} invites you to create an account at {host}.',
      label: 'Create the account',
    },
  },
  mailValidHour: 'The link works once, for one hour.',
  mailValidDay: 'The link works once, for one day.',
  mailValidWeek: 'The link works once, for one week.',
  mailOrigin: 'The request came from {address} ({agent}) at {time}.',
  mailIgnore: 'If you did not expect this email, ignore it. Without the link, nothing changes.',
  mailNotYou: 'If this was not you, change your password now and contact the operator.',

  backToAccount: 'Back to your account',
  everywhereQuestion: 'Sign out everywhere?',
  everywhereLead:
    'Signs you out of every browser, application and device at once, including this browser. Use it if you lost a device or something seems wrong.',
  signOutEverywhere: 'Sign out everywhere',
  signedOutEverywhereTitle: 'You are signed out everywhere',
  signedOutEverywhere: 'No browser, application or device has access to your account anymore.',

  // Errors
  errorTitles: {
    signInExpired: 'This sign-in has expired',
    signInStartAgain: 'This sign-in was ended',
    signInCompleted: 'Back to the application',
    tooManyAttempts: 'Too many attempts',
    tooManyRequests: 'Too many requests',
    formRefused: 'The form was not accepted',
    wasSignedOut: 'You are signed out',
    unavailable: 'Not available at the moment',
    unexpected: 'An error on the server',
    notFound: 'Page not found',
    badRequest: 'The application sent an invalid request',
    methodNotAllowed: 'This does not work here',
    cookiesNeeded: 'Cookies are needed',
    cookiesBlocked: 'Cookies are needed',
    tooManyMails: 'Too many requests',
    linkInvalid: 'This link cannot be used',
    upstreamFailed: 'The other service did not sign you in',
    upstreamRefused: 'That account is not known here',
    upstreamTaken: 'The account was not connected',
  },
  tryAgain: 'Try again',
  errorReference: 'If you ask for help, give this reference: {reference}',
  signInExpired:
    'This sign-in has expired or was started in another browser. Go back to the application and start again.',
  signInStartAgain: 'This sign-in can no longer be used. Start again.',
  signInCompleted:
    'You have already finished this step. Continue in the application. If it is not in this window, close this page.',
  startAgain: 'Start again',
  formRefused:
    'This form is no longer valid: it is too old, or it was opened elsewhere. Go back and start again.',
  wasSignedOut: 'You were signed out in the meantime. To continue, sign in again.',
  unavailable: 'The service is temporarily unavailable. Try again shortly.',
  unexpected:
    'Something went wrong on the server. Try again. If the problem persists, contact the operator.',
  startPage: 'Go to the start page',
  tooManyAttempts:
    'There were too many attempts to sign in. Wait a quarter of an hour and try again.',
  tooManyRequests: 'This network sends too many requests. Wait a minute and try again.',
  notFound: 'This page does not exist.',
  badRequest: 'The application’s developer has to correct it.',
  methodNotAllowed: 'This page cannot be used in this way. Go back and start again.',
  tooManyMails: 'There were too many requests. Wait a quarter of an hour and try again.',
  linkInvalid: 'This link has expired or was already used. Ask for a new one.',
  upstreamFailed: 'Try again, or sign in another way.',
  upstreamRefused:
    'That account cannot sign you in here. Sign in another way. You can then connect it on your account page.',
  upstreamTaken: 'That account cannot be connected. It may already sign in someone else here.',
  upstreamBack: 'Sign in another way',
  cookiesNeeded:
    'You are not signed in. Your browser may block cookies. Allow them for this address and try again.',
  cookiesBlocked:
    'Your browser sent no cookies. It may block them, or this page was opened in another browser. Allow cookies for this address, then go back to the application and start again.',

  /** What each scope lets an application do, as the end of "this application will be able to". */
  scopes: {
    'device:read': 'See your devices and their details',
    'device:write': 'Add devices and change them',
    'device:log': 'Read the logs of your devices',
    'device:report': 'Report data for your devices',
    openid: 'Confirm who you are',
    profile: 'See your name and username',
    email: 'See your email address',
    groups: 'See your organization and your roles',
    offline_access: 'Keep this access when you are not signed in',
  },
};
