import type { Texts } from './texts-en.ts';

export const german: Texts = {
  language: 'de',

  // Every page
  languageName: 'Deutsch',
  languageMenu: 'Sprache',
  help: 'Hilfe',
  privacy: 'Datenschutz',
  terms: 'Nutzungsbedingungen',
  helpContact: 'Wenn Sie Hilfe brauchen, wenden Sie sich an {contact}.',
  showPassword: 'Passwort anzeigen',

  // Sign-in and consent
  signInLead: 'um mit {client} fortzufahren',
  signInLeadAccount: 'um Ihr Konto anzusehen und zu verwalten',
  username: 'Benutzername',
  password: 'Passwort',
  signIn: 'Anmelden',
  rememberMe: 'In diesem Browser angemeldet bleiben',
  signInFailed:
    'Dieser Benutzername und dieses Passwort passen zu keinem Konto. Prüfen Sie beides und versuchen Sie es erneut.',
  signInFailedWait: 'Warten Sie nach mehreren Fehlversuchen 15 Minuten.',
  consentTitle: '{client} bittet um Zugriff',
  consentLead: 'Wenn Sie dies zulassen, kann diese Anwendung:',
  signedInAs: 'Angemeldet als {name}',
  useAnotherAccount: 'Anderes Konto verwenden',
  keepAccount: 'Als {name} fortfahren',
  organization: 'Organisation',
  consentDestination: 'Weiter auf',
  consentToDevice: 'Ihrem Gerät',
  consentApplicationId: 'Anwendungs-ID',
  applicationId: 'Anwendungs-ID: {clientId}',
  consentSite: 'Sie gewähren Zugriff für',
  consentUnknownSite:
    'Der Betreiber dieses Servers kennt diese Website nicht. Lassen Sie den Zugriff nur zu, wenn Sie diesen Vorgang selbst gestartet haben und der Website vertrauen.',
  endAnyTime: 'Sie können diesen Zugriff jederzeit auf Ihrer Kontoseite beenden.',
  allow: 'Zulassen',
  deny: 'Ablehnen',
  chooseAccountTitle: 'Konto auswählen',
  returningTitle: 'Zurück zur Anwendung',
  welcomeTitle: 'Ein Konto für Ihre Geräte',
  welcomeLead:
    'Melden Sie sich an, um Ihr Profil und die Anwendungen mit Zugriff auf Ihr Konto zu sehen.',
  openAccount: 'Zu Ihrem Konto',
  connectDevice: 'Gerät verbinden',
  signInLinkNeedsScript:
    'Hat eine Anwendung Sie zum Anmelden hierher geleitet? Ihr Link benötigt JavaScript. Aktivieren Sie JavaScript für diese Adresse und öffnen Sie den Link dann erneut.',

  // Devices
  deviceLead: 'Geben Sie den Code ein, den Ihr Gerät anzeigt.',
  deviceLeadPrefilled:
    'Vergleichen Sie diesen Code mit dem auf Ihrem Gerät. Fahren Sie nur fort, wenn beide übereinstimmen.',
  userCode: 'Code',
  userCodeHint: '8 Buchstaben, zum Beispiel BCDF-GHJK',
  continue: 'Weiter',
  deviceConfirmTitle: 'Ist das Ihr Gerät?',
  deviceConfirmLead: 'Ihr Gerät muss genau diesen Code anzeigen:',
  deviceGets:
    'Auf dem Gerät mit diesem Code erhält {client} Zugriff auf Ihr Konto. Sie lassen Folgendes zu:',
  deviceAsks:
    'Auf dem Gerät mit diesem Code bittet {client} um Zugriff auf Ihr Konto. Über den Zugriff entscheiden Sie auf den nächsten Seiten.',
  deviceWarning:
    'Brechen Sie hier ab, wenn Ihnen jemand diesen Code oder einen Link zu dieser Seite geschickt hat. Die Person mit dem Gerät erhält den Zugriff, den Sie zulassen.',
  deviceConfirm: 'Ja, die Codes stimmen überein',
  deviceCancel: 'Nein, abbrechen',
  deviceDoneTitle: 'Ihr Gerät ist verbunden',
  deviceDone: '{client} macht in wenigen Sekunden weiter. Sie können diese Seite schließen.',
  deviceStoppedTitle: 'Es wurde nichts verbunden',
  deviceStopped: 'Ihr Gerät hat keinen Zugriff. Es wird anzeigen, dass Sie abgelehnt haben.',
  deviceAnother: 'Anderen Code eingeben',
  deviceNotFound: 'Diesen Code gibt es nicht. Vergleichen Sie ihn mit dem Code auf Ihrem Gerät.',
  deviceExpired:
    'Dieser Code ist abgelaufen. Rufen Sie auf Ihrem Gerät einen neuen Code ab und geben Sie ihn ein.',
  deviceUsed:
    'Dieser Code wurde bereits verwendet. Rufen Sie auf Ihrem Gerät einen neuen Code ab und geben Sie ihn ein.',
  deviceStale:
    'Diese Seite war zu lange oder in zwei Tabs geöffnet. Geben Sie den Code erneut ein.',
  deviceCookiesBlocked:
    'Ihr Browser hat keine Cookies gesendet, möglicherweise blockiert er sie. Erlauben Sie Cookies für diese Adresse und geben Sie den Code dann erneut ein.',
  deviceRefused:
    'Dieses Gerät kann nicht verbunden werden. Rufen Sie auf dem Gerät einen neuen Code ab oder wenden Sie sich an den Hersteller.',
  deviceTooMany: 'Zu viele falsche Codes. Warten Sie {time} und versuchen Sie es dann erneut.',
  deviceSignInFirst:
    'Hier wurden zu viele falsche Codes eingegeben. Melden Sie sich zuerst an und geben Sie dann Ihren Code ein, oder warten Sie {time}.',

  // Sign-in with an upstream provider
  upstreamContinue: 'Weiter mit {provider}',
  upstreamsTitle: 'Andere Konten zur Anmeldung',
  upstreamConnected: 'Verknüpft',
  upstreamConnect: '{provider} verknüpfen',
  upstreamDisconnect: 'Verknüpfung mit {provider} aufheben',
  upstreamOnlyWay:
    'Sie können sich nur damit anmelden, daher kann die Verknüpfung nicht aufgehoben werden.',

  // Sign-out of this browser
  logoutTitle: 'Abmelden?',
  logoutLead: 'Sie sind als {name} angemeldet.',
  logoutEnds:
    'Mit der Abmeldung enden die Sitzung dieses Browsers und der Zugriff dieser Anwendungen:',
  logoutEndsNothing: 'Mit der Abmeldung endet die Sitzung dieses Browsers.',
  logoutKeepsDevices:
    'Geräte, die Sie mit einem Code verbunden haben, bleiben verbunden. Ihren Zugriff können Sie auf Ihrer Kontoseite beenden.',
  logoutKeepsUpstreams: 'Die Abmeldung hier meldet Sie nicht bei {providers} ab.',
  signOut: 'Abmelden',
  staySignedIn: 'Angemeldet bleiben',
  signedOutTitle: 'Sie sind abgemeldet',
  signedOut: 'Schließen Sie an einem gemeinsam genutzten Computer auch den Browser.',
  signInAgain: 'Erneut anmelden',

  // Account
  accountTitle: 'Ihr Konto',
  accountName: 'Name',
  accountEmail: 'E-Mail-Adresse',
  accountEmailUnverified: 'nicht bestätigt',
  accountRoles: 'Rollen',
  accountId: 'Konto-ID',
  applicationsTitle: 'Anwendungen mit Zugriff',
  applicationsNone: 'Keine Anwendung hat Zugriff auf Ihr Konto.',
  applicationSince: 'Seit dem {day}',
  applicationGone: 'Diese Anwendung ist hier nicht mehr registriert.',
  revoke: 'Zugriff beenden',
  revokeLabel: 'Zugriff beenden: {client}',
  passwordLead: 'Eine Änderung meldet Ihre anderen Browser, alle Anwendungen und alle Geräte ab.',
  changePassword: 'Passwort ändern',
  currentPassword: 'Aktuelles Passwort',
  newPassword: 'Neues Passwort',
  newPasswordHint: 'Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken.',
  repeatPassword: 'Neues Passwort wiederholen',
  passwordProblems: {
    wrong: 'Das aktuelle Passwort ist falsch.',
    short: 'Das neue Passwort muss mindestens 8 Zeichen haben.',
    long: 'Das neue Passwort ist zu lang.',
    username:
      'Das neue Passwort darf nicht der Benutzername sein, weder mit noch ohne Ziffern. Wählen Sie ein anderes, zum Beispiel vier zufällige Wörter.',
    product:
      'Das neue Passwort darf nicht der Name dieses Produkts sein, weder mit noch ohne Ziffern. Wählen Sie ein anderes, zum Beispiel vier zufällige Wörter.',
    common:
      'Das neue Passwort ist eines der häufigsten Passwörter. Wählen Sie ein anderes, zum Beispiel vier zufällige Wörter.',
    pattern:
      'Das neue Passwort ist eine Folge oder Wiederholung von Zeichen. Wählen Sie ein anderes, zum Beispiel vier zufällige Wörter.',
    same: 'Das neue Passwort ist Ihr aktuelles Passwort.',
    differs: 'Die beiden neuen Passwörter stimmen nicht überein.',
  },
  accountNotices: {
    revoked: 'Der Zugriff wurde beendet.',
    session: 'Die Sitzung wurde beendet.',
    profile: 'Ihr Profil wurde gespeichert.',
    email: 'Ihre E-Mail-Adresse wurde gespeichert.',
    verify: 'Eine E-Mail ist unterwegs. Bestätigen Sie die Adresse mit dem Link darin.',
    password: 'Ihr Passwort wurde geändert. Alle anderen Anmeldungen wurden beendet.',
    factorsRemoved: 'Die Anmeldung in zwei Schritten ist deaktiviert.',
    passkeyAdded: 'Der Passkey wurde hinzugefügt.',
    connected: 'Das Konto wurde verknüpft.',
    disconnected: 'Die Verknüpfung des Kontos wurde aufgehoben.',
  },
  // Account: browsers, profile, own data
  browsersTitle: 'Browser',
  browserOn: '{browser} auf {system}',
  browserUnknown: 'Unbekannter Browser',
  browserCurrent: 'Dieser Browser',
  browserSince: 'Angemeldet am {day}',
  browserUsed: 'Zuletzt verwendet am {day}',
  browserUsedFrom: 'Zuletzt verwendet am {day} von {address} aus',
  browsersMore: 'Und {count} weitere. Um auch diese zu beenden, melden Sie sich überall ab.',
  endSession: 'Diese Sitzung beenden',
  endSessionLabel: 'Diese Sitzung beenden: {browser}',
  profileTitle: 'Profil',
  profileEdit: 'Profil bearbeiten',
  givenName: 'Vorname',
  familyName: 'Nachname',
  profileLanguageHint: 'Für E-Mails an Sie.',
  languageOfBrowser: 'Wie in Ihrem Browser',
  profileProblem: 'Korrigieren Sie dieses Feld: {field}.',
  profileTooOften: 'Sie haben Ihr Profil zu oft geändert. Warten Sie eine Stunde.',
  emailEdit: 'E-Mail-Adresse ändern',
  emailLead: 'Mit einer neuen Adresse können Sie sich anmelden, sobald sie bestätigt ist.',
  save: 'Speichern',
  dataTitle: 'Ihre Daten',
  dataLead: 'Ihr Profil, Ihre Anmeldemethoden, Browser und Anwendungen als JSON-Datei.',
  dataDownload: 'Herunterladen',
  removeAccount: 'Konto löschen',
  removeQuestion: 'Ihr Konto löschen?',
  removeLead:
    'Sie werden überall abgemeldet und alle Anwendungen verlieren den Zugriff. Dies kann nicht rückgängig gemacht werden.',
  removeConfirm: 'Geben Sie zur Bestätigung Ihren Benutzernamen ein: {username}',
  removeProblem: 'Das ist nicht Ihr Benutzername.',
  accountRemovedTitle: 'Ihr Konto wurde gelöscht',
  accountRemoved: 'Sie sind überall abgemeldet.',

  // New passwords, at sign-in and by a link
  mustChangeTitle: 'Neues Passwort wählen',
  mustChangeLead: 'Sie müssen Ihr Passwort ändern, bevor Sie fortfahren.',
  setPassword: 'Passwort festlegen',
  resetTitle: 'Passwort wählen',
  resetLead: 'Es ersetzt das alte und meldet Sie überall ab.',
  resetDoneTitle: 'Ihr Passwort ist festgelegt',
  resetDone: 'Sie können sich jetzt damit anmelden.',

  // Second factors, at sign-in and on the account page
  codeTitle: 'Code eingeben',
  codeLead: 'Öffnen Sie Ihre Authenticator-App und geben Sie den Code aus der App ein.',
  code: 'Code',
  codeHint: 'Ohne Ihr Smartphone geben Sie einen Wiederherstellungscode ein.',
  codeWrong: 'Dieser Code ist falsch oder wurde bereits verwendet. Warten Sie auf den nächsten.',
  enrollTitle: 'Authenticator-App einrichten',
  enrollLead:
    'Scannen Sie das Bild mit einer Authenticator-App auf Ihrem Smartphone und geben Sie dann den Code aus der App ein.',
  enrollDecline: 'Jetzt nicht',
  appQrCode: 'QR-Code für die App',
  appKey: 'Ohne Kamera geben Sie diesen Schlüssel in der App ein: {key}',
  appOpen: 'App auf diesem Gerät öffnen',
  appCode: 'Code aus der App',
  appCodeWrong:
    'Dieser Code ist falsch. Prüfen Sie die Uhrzeit Ihres Smartphones und geben Sie den nächsten Code ein.',
  recoveryTitle: 'Ihre Wiederherstellungscodes',
  recoveryLead:
    'Wenn Sie Ihr Smartphone verlieren, können Sie sich mit jedem dieser Codes einmal anmelden.',
  recoveryOnce: 'Drucken oder speichern Sie sie jetzt. Sie werden nicht noch einmal angezeigt.',
  recoveryLeft: 'Verbleibende Wiederherstellungscodes: {codes}.',
  recoveryRenew: 'Neue Wiederherstellungscodes abrufen',
  factorTitle: 'Anmeldung in zwei Schritten',
  factorLead:
    'Melden Sie sich zusätzlich zu Ihrem Passwort mit einem Code von Ihrem Smartphone an.',
  factorState: 'Aktiviert seit dem {since}. Zuletzt verwendet: {used}.',
  factorTurnOn: 'Aktivieren',
  factorManage: 'Verwalten',
  factorTurnOff: 'Deaktivieren',
  factorReplace: 'Andere App verwenden',

  // Passkeys, at sign-in and on the account page
  passkey: 'Passkey',
  passkeySignIn: 'Mit einem Passkey anmelden',
  passkeyUse: 'Ihren Passkey verwenden',
  passkeyLead: 'Fahren Sie mit dem Passkey fort, den Sie Ihrem Konto hinzugefügt haben.',
  passkeyFailed:
    'Der Passkey wurde nicht akzeptiert. Versuchen Sie es erneut oder melden Sie sich auf andere Weise an.',
  passkeyNeedsScript: 'Passkeys benötigen JavaScript. Aktivieren Sie es für diese Adresse.',
  passkeysTitle: 'Passkeys',
  passkeysLead:
    'Mit einem Passkey melden Sie sich per Fingerabdruck, Gesicht oder Displaysperre statt mit einem Passwort an.',
  passkeysCount: 'Passkeys zur Anmeldung: {count}',
  passkeyAdd: 'Passkey hinzufügen',
  passkeyName: 'Name des Passkeys',
  passkeyNewName: 'Neuer Name für {name}',
  passkeyRename: 'Umbenennen',
  passkeyRemove: 'Entfernen',
  passkeyRemoveLabel: 'Entfernen: {name}',
  passkeyState: 'Hinzugefügt am {since}. Zuletzt verwendet: {used}.',
  passkeyUnused: 'nie',
  passkeyBackedUp: 'Es gibt eine Sicherung davon.',
  passkeyProblems: {
    wrong: 'Der Passkey wurde nicht hinzugefügt. Versuchen Sie es erneut.',
    exists: 'Sie haben diesen Passkey bereits.',
    full: 'Sie haben 10 Passkeys. Entfernen Sie einen, bevor Sie einen weiteren hinzufügen.',
  },

  // Forgotten passwords
  forgotPassword: 'Passwort vergessen?',
  forgotTitle: 'Passwort vergessen?',
  forgotLead: 'Sie erhalten eine E-Mail mit einem Link, über den Sie ein neues wählen.',
  usernameOrEmail: 'Benutzername oder E-Mail-Adresse',
  sendLink: 'Link senden',
  mailSentTitle: 'Sehen Sie in Ihre E-Mails',
  forgotSent:
    'Wenn das Konto eine bestätigte E-Mail-Adresse hat, ist eine E-Mail mit einem Link unterwegs. Der Link gilt eine Stunde.',
  mailSentHint: 'Nach einigen Minuten noch keine E-Mail? Sehen Sie im Spam-Ordner nach.',
  backToSignIn: 'Zurück zur Anmeldung',

  // New accounts and addresses
  createAccount: 'Konto erstellen',
  createAccountTitle: 'Ihr Konto erstellen',
  registerLead:
    'Geben Sie Ihre E-Mail-Adresse ein. Sie erhalten eine E-Mail mit einem Link, über den Sie fortfahren.',
  registerSent: 'Eine E-Mail ist unterwegs. Folgen Sie dem Link darin, um fortzufahren.',
  addressInvalid: 'Das ist keine E-Mail-Adresse.',
  addressDomains: 'Geben Sie eine Adresse ein, die auf {domains} endet.',
  createAccountLead: 'Für {email}, in der Organisation {organization}.',
  createAccountButton: 'Konto erstellen',
  accountProblems: {
    name: 'Geben Sie einen Namen ein.',
    username: 'Wählen Sie einen Benutzernamen ohne @ und ohne Leerzeichen am Anfang oder Ende.',
    taken: 'Dieser Benutzername ist vergeben. Wählen Sie einen anderen.',
  },
  accountCreatedTitle: 'Ihr Konto ist bereit',
  accountCreated: 'Sie können sich jetzt anmelden.',
  verifyTitle: 'E-Mail-Adresse bestätigen',
  verifyLead: 'Ist {email} Ihre Adresse?',
  confirmAddress: 'Ja, bestätigen',
  verifyDoneTitle: 'Ihre Adresse ist bestätigt',
  verifyDone: 'Sie können sich damit anmelden.',

  // Mails
  mails: {
    reset: {
      subject: 'Wählen Sie ein neues Passwort bei {host}',
      lead: 'Jemand hat ein neues Passwort für Ihr Konto {username} bei {host} angefordert.',
      label: 'Neues Passwort wählen',
    },
    verify: {
      subject: 'Bestätigen Sie Ihre E-Mail-Adresse bei {host}',
      lead: 'Bestätigen Sie, dass diese Adresse zu Ihrem Konto {username} bei {host} gehört.',
      label: 'Adresse bestätigen',
    },
    register: {
      subject: 'Erstellen Sie Ihr Konto bei {host}',
      lead: 'Jemand hat mit dieser Adresse ein Konto bei {host} angefordert, in der Organisation {organization}.',
      label: 'Konto erstellen',
    },
    exists: {
      subject: 'Sie haben ein Konto bei {host}',
      lead: 'Jemand hat mit dieser Adresse ein Konto bei {host} angefordert. Sie haben bereits eines: {username}.',
      label: 'Zu Ihrem Konto',
    },
    changed: {
      subject: 'Änderung an Ihrem Konto bei {host}',
      lead: 'In Ihrem Konto {username} bei {host} wurde geändert: {change}.',
      label: 'Zu Ihrem Konto',
    },
    invite: {
      subject: 'Einladung zu {organization}',
      lead: '{organization} lädt Sie ein, ein Konto bei {host} zu erstellen.',
      label: 'Konto erstellen',
    },
  },
  mailValidHour: 'Der Link funktioniert einmal und gilt eine Stunde.',
  mailValidDay: 'Der Link funktioniert einmal und gilt einen Tag.',
  mailValidWeek: 'Der Link funktioniert einmal und gilt eine Woche.',
  mailOrigin: 'Die Anfrage kam von {address} ({agent}), Zeitpunkt: {time}.',
  mailIgnore:
    'Wenn Sie diese E-Mail nicht erwartet haben, ignorieren Sie sie. Ohne den Link ändert sich nichts.',
  mailNotYou:
    'Wenn Sie das nicht waren, ändern Sie sofort Ihr Passwort und wenden Sie sich an den Betreiber.',

  backToAccount: 'Zurück zu Ihrem Konto',
  everywhereQuestion: 'Überall abmelden?',
  everywhereLead:
    'Meldet Sie sofort in allen Browsern, Anwendungen und Geräten ab, auch in diesem Browser. Nutzen Sie dies, wenn Sie ein Gerät verloren haben oder etwas nicht zu stimmen scheint.',
  signOutEverywhere: 'Überall abmelden',
  signedOutEverywhereTitle: 'Sie sind überall abgemeldet',
  signedOutEverywhere:
    'Kein Browser, keine Anwendung und kein Gerät hat noch Zugriff auf Ihr Konto.',

  // Errors
  errorTitles: {
    signInExpired: 'Diese Anmeldung ist abgelaufen',
    signInStartAgain: 'Diese Anmeldung wurde beendet',
    signInCompleted: 'Zurück zur Anwendung',
    tooManyAttempts: 'Zu viele Versuche',
    tooManyRequests: 'Zu viele Anfragen',
    formRefused: 'Das Formular wurde nicht angenommen',
    wasSignedOut: 'Sie sind abgemeldet',
    unavailable: 'Derzeit nicht verfügbar',
    unexpected: 'Ein Fehler auf dem Server',
    notFound: 'Seite nicht gefunden',
    badRequest: 'Die Anwendung hat eine ungültige Anfrage gesendet',
    methodNotAllowed: 'Das funktioniert hier nicht',
    cookiesNeeded: 'Cookies sind erforderlich',
    cookiesBlocked: 'Cookies sind erforderlich',
    tooManyMails: 'Zu viele Anfragen',
    linkInvalid: 'Dieser Link kann nicht verwendet werden',
    upstreamFailed: 'Der andere Dienst hat Sie nicht angemeldet',
    upstreamRefused: 'Dieses Konto ist hier nicht bekannt',
    upstreamTaken: 'Das Konto wurde nicht verknüpft',
  },
  tryAgain: 'Erneut versuchen',
  errorReference: 'Wenn Sie um Hilfe bitten, geben Sie diese Referenz an: {reference}',
  signInExpired:
    'Diese Anmeldung ist abgelaufen oder wurde in einem anderen Browser begonnen. Kehren Sie zur Anwendung zurück und beginnen Sie von vorn.',
  signInStartAgain: 'Diese Anmeldung kann nicht mehr verwendet werden. Beginnen Sie von vorn.',
  signInCompleted:
    'Sie haben diesen Schritt bereits abgeschlossen. Machen Sie in der Anwendung weiter. Wenn sie nicht in diesem Fenster ist, schließen Sie diese Seite.',
  startAgain: 'Von vorn beginnen',
  formRefused:
    'Dieses Formular ist nicht mehr gültig: Es ist zu alt oder wurde anderswo geöffnet. Gehen Sie zurück und beginnen Sie von vorn.',
  wasSignedOut: 'Sie wurden inzwischen abgemeldet. Melden Sie sich erneut an, um fortzufahren.',
  unavailable: 'Der Dienst ist vorübergehend nicht verfügbar. Versuchen Sie es in Kürze erneut.',
  unexpected:
    'Auf dem Server ist etwas schiefgelaufen. Versuchen Sie es erneut. Wenn das Problem weiterhin besteht, wenden Sie sich an den Betreiber.',
  startPage: 'Zur Startseite',
  tooManyAttempts:
    'Es gab zu viele Anmeldeversuche. Warten Sie eine Viertelstunde und versuchen Sie es erneut.',
  tooManyRequests:
    'Dieses Netzwerk sendet zu viele Anfragen. Warten Sie eine Minute und versuchen Sie es erneut.',
  notFound: 'Diese Seite gibt es nicht.',
  badRequest: 'Das muss der Entwickler der Anwendung korrigieren.',
  methodNotAllowed:
    'Diese Seite kann so nicht verwendet werden. Gehen Sie zurück und beginnen Sie von vorn.',
  tooManyMails:
    'Es gab zu viele Anfragen. Warten Sie eine Viertelstunde und versuchen Sie es erneut.',
  linkInvalid:
    'Dieser Link ist abgelaufen oder wurde bereits verwendet. Fordern Sie einen neuen an.',
  upstreamFailed: 'Versuchen Sie es erneut oder melden Sie sich auf andere Weise an.',
  upstreamRefused:
    'Mit diesem Konto können Sie sich hier nicht anmelden. Melden Sie sich auf andere Weise an. Danach können Sie es auf Ihrer Kontoseite verknüpfen.',
  upstreamTaken:
    'Dieses Konto kann nicht verknüpft werden. Möglicherweise meldet sich hier bereits jemand anderes damit an.',
  upstreamBack: 'Auf andere Weise anmelden',
  cookiesNeeded:
    'Sie sind nicht angemeldet. Möglicherweise blockiert Ihr Browser Cookies. Erlauben Sie sie für diese Adresse und versuchen Sie es erneut.',
  cookiesBlocked:
    'Ihr Browser hat keine Cookies gesendet. Möglicherweise blockiert er sie, oder diese Seite wurde in einem anderen Browser geöffnet. Erlauben Sie Cookies für diese Adresse, kehren Sie dann zur Anwendung zurück und beginnen Sie von vorn.',

  scopes: {
    'device:read': 'Ihre Geräte und deren Details sehen',
    'device:write': 'Geräte hinzufügen und ändern',
    'device:log': 'Die Protokolle Ihrer Geräte lesen',
    'device:report': 'Daten für Ihre Geräte melden',
    openid: 'Ihre Identität bestätigen',
    profile: 'Ihren Namen und Benutzernamen sehen',
    email: 'Ihre E-Mail-Adresse sehen',
    groups: 'Ihre Organisation und Ihre Rollen sehen',
    offline_access: 'Diesen Zugriff behalten, wenn Sie nicht angemeldet sind',
  },
};
