import type { Texts } from './texts-en.ts';

export const french: Texts = {
  language: 'fr',

  // Every page
  languageName: 'Français',
  languageMenu: 'Langue',
  help: 'Aide',
  privacy: 'Confidentialité',
  terms: 'Conditions d’utilisation',
  helpContact: 'Si vous avez besoin d’aide, contactez {contact}.',
  showPassword: 'Afficher le mot de passe',

  // Sign-in and consent
  signInLead: 'pour continuer vers {client}',
  signInLeadAccount: 'pour voir et gérer votre compte',
  username: 'Nom d’utilisateur',
  password: 'Mot de passe',
  signIn: 'Se connecter',
  rememberMe: 'Garder ma session ouverte sur ce navigateur',
  signInFailed:
    'Ce nom d’utilisateur et ce mot de passe ne correspondent à aucun compte. Vérifiez-les et réessayez.',
  signInFailedWait: 'Après plusieurs tentatives incorrectes, attendez 15 minutes.',
  consentTitle: '{client} demande un accès',
  consentLead: 'Si vous l’autorisez, cette application pourra :',
  signedInAs: 'Session ouverte : {name}',
  useAnotherAccount: 'Utiliser un autre compte',
  keepAccount: 'Continuer en tant que {name}',
  organization: 'Organisation',
  consentDestination: 'Suite sur',
  consentToDevice: 'Votre appareil',
  consentApplicationId: 'ID de l’application',
  applicationId: 'ID de l’application : {clientId}',
  consentSite: 'Vous donnez accès à',
  consentUnknownSite:
    'L’opérateur de ce serveur ne connaît pas ce site web. N’autorisez l’accès que si vous êtes à l’origine de cette demande et que vous faites confiance à ce site.',
  endAnyTime: 'Vous pouvez retirer cet accès à tout moment sur la page de votre compte.',
  allow: 'Autoriser',
  deny: 'Refuser',
  chooseAccountTitle: 'Choisir un compte',
  returningTitle: 'Retour à l’application',
  welcomeTitle: 'Un seul compte pour vos appareils',
  welcomeLead:
    'Connectez-vous pour voir votre profil et les applications qui ont accès à votre compte.',
  openAccount: 'Accéder à votre compte',
  connectDevice: 'Connecter un appareil',
  signInLinkNeedsScript:
    'Une application vous a dirigé ici pour vous connecter ? Son lien nécessite JavaScript. Activez JavaScript pour cette adresse, puis ouvrez de nouveau le lien.',

  // Devices
  deviceLead: 'Saisissez le code affiché sur votre appareil.',
  deviceLeadPrefilled:
    'Comparez ce code avec celui de votre appareil. Continuez uniquement s’ils sont identiques.',
  userCode: 'Code',
  userCodeHint: '8 lettres, par exemple BCDF-GHJK',
  continue: 'Continuer',
  deviceConfirmTitle: 'Est-ce votre appareil ?',
  deviceConfirmLead: 'Votre appareil doit afficher exactement ce code :',
  deviceGets:
    'Sur l’appareil qui affiche ce code, {client} obtient l’accès à votre compte. Vous l’autorisez à :',
  deviceAsks:
    'Sur l’appareil qui affiche ce code, {client} demande l’accès à votre compte. Vous déciderez de cet accès sur les pages suivantes.',
  deviceWarning:
    'Arrêtez-vous ici si quelqu’un vous a envoyé ce code ou un lien vers cette page. La personne qui a l’appareil obtient l’accès que vous autorisez.',
  deviceConfirm: 'Oui, les codes sont identiques',
  deviceCancel: 'Non, annuler',
  deviceDoneTitle: 'Votre appareil est connecté',
  deviceDone: '{client} continue dans quelques secondes. Vous pouvez fermer cette page.',
  deviceStoppedTitle: 'Rien n’a été connecté',
  deviceStopped: 'Votre appareil n’a aucun accès. Il indiquera que vous avez refusé.',
  deviceAnother: 'Saisir un autre code',
  deviceNotFound: 'Ce code n’existe pas. Comparez-le avec le code affiché sur votre appareil.',
  deviceExpired: 'Ce code a expiré. Obtenez un nouveau code sur votre appareil et saisissez-le.',
  deviceUsed:
    'Ce code a déjà été utilisé. Obtenez un nouveau code sur votre appareil et saisissez-le.',
  deviceStale:
    'Cette page est restée ouverte trop longtemps ou dans deux onglets. Saisissez de nouveau le code.',
  deviceCookiesBlocked:
    'Votre navigateur n’a envoyé aucun cookie : il les bloque peut-être. Autorisez les cookies pour cette adresse, puis saisissez de nouveau le code.',
  deviceRefused:
    'Impossible de connecter cet appareil. Obtenez un nouveau code sur l’appareil ou contactez son fabricant.',
  deviceTooMany: 'Trop de codes incorrects. Attendez {time}, puis réessayez.',
  deviceSignInFirst:
    'Trop de codes incorrects ont été saisis ici. Connectez-vous d’abord, puis saisissez votre code, ou attendez {time}.',

  // Sign-in with an upstream provider
  upstreamContinue: 'Continuer avec {provider}',
  upstreamsTitle: 'Autres comptes pour vous connecter',
  upstreamConnected: 'Associé',
  upstreamConnect: 'Associer {provider}',
  upstreamDisconnect: 'Dissocier {provider}',
  upstreamOnlyWay:
    'C’est votre seul moyen de vous connecter, vous ne pouvez donc pas le dissocier.',

  // Sign-out of this browser
  logoutTitle: 'Se déconnecter ?',
  logoutLead: 'Votre session est ouverte avec le compte {name}.',
  logoutEnds:
    'La déconnexion met fin à la session de ce navigateur et à l’accès de ces applications :',
  logoutEndsNothing: 'La déconnexion met fin à la session de ce navigateur.',
  logoutKeepsDevices:
    'Les appareils que vous avez connectés avec un code restent connectés. Vous pouvez retirer leur accès sur la page de votre compte.',
  logoutKeepsUpstreams: 'Se déconnecter ici ne ferme pas votre session chez {providers}.',
  signOut: 'Se déconnecter',
  staySignedIn: 'Ne pas se déconnecter',
  signedOutTitle: 'Votre session est fermée',
  signedOut: 'Sur un ordinateur partagé, fermez aussi le navigateur.',
  signInAgain: 'Se reconnecter',

  // Account
  accountTitle: 'Votre compte',
  accountName: 'Nom',
  accountEmail: 'Adresse e-mail',
  accountEmailUnverified: 'non vérifiée',
  accountRoles: 'Rôles',
  accountId: 'ID du compte',
  applicationsTitle: 'Applications ayant un accès',
  applicationsNone: 'Aucune application n’a accès à votre compte.',
  applicationSince: 'Depuis le {day}',
  applicationGone: 'Cette application n’est plus enregistrée ici.',
  revoke: 'Retirer l’accès',
  revokeLabel: 'Retirer l’accès : {client}',
  passwordLead:
    'Le modifier déconnecte vos autres navigateurs, toutes les applications et tous les appareils.',
  changePassword: 'Modifier le mot de passe',
  currentPassword: 'Mot de passe actuel',
  newPassword: 'Nouveau mot de passe',
  newPasswordHint: 'Au moins 8 caractères. Quelques mots à la suite sont faciles à retenir.',
  repeatPassword: 'Répéter le nouveau mot de passe',
  passwordProblems: {
    wrong: 'Le mot de passe actuel est incorrect.',
    short: 'Le nouveau mot de passe doit comporter au moins 8 caractères.',
    long: 'Le nouveau mot de passe est trop long.',
    username:
      'Le nouveau mot de passe ne doit pas être le nom d’utilisateur, avec ou sans chiffres. Choisissez-en un autre, par exemple quatre mots au hasard.',
    product:
      'Le nouveau mot de passe ne doit pas être le nom de ce produit, avec ou sans chiffres. Choisissez-en un autre, par exemple quatre mots au hasard.',
    common:
      'Le nouveau mot de passe est l’un des plus courants. Choisissez-en un autre, par exemple quatre mots au hasard.',
    pattern:
      'Le nouveau mot de passe est une suite ou une répétition de caractères. Choisissez-en un autre, par exemple quatre mots au hasard.',
    same: 'Le nouveau mot de passe est votre mot de passe actuel.',
    differs: 'Les deux nouveaux mots de passe ne sont pas identiques.',
  },
  accountNotices: {
    revoked: 'L’accès a été retiré.',
    session: 'La session a été fermée.',
    profile: 'Votre profil a été enregistré.',
    email: 'Votre adresse e-mail a été enregistrée.',
    verify: 'Un e-mail est en route. Suivez son lien pour vérifier l’adresse.',
    password: 'Votre mot de passe a été modifié. Toutes les autres sessions ont été fermées.',
    factorsRemoved: 'La validation en deux étapes est désactivée.',
    passkeyAdded: 'La clé d’accès a été ajoutée.',
    connected: 'Le compte a été associé.',
    disconnected: 'Le compte a été dissocié.',
  },
  // Account: browsers, profile, own data
  browsersTitle: 'Navigateurs',
  browserOn: '{browser} sur {system}',
  browserUnknown: 'Navigateur inconnu',
  browserCurrent: 'Ce navigateur',
  browserSince: 'Connexion le {day}',
  browserUsed: 'Dernière utilisation le {day}',
  browserUsedFrom: 'Dernière utilisation le {day} depuis {address}',
  browsersMore: 'Et {count} de plus. Pour fermer aussi ces sessions, déconnectez-vous partout.',
  endSession: 'Fermer cette session',
  endSessionLabel: 'Fermer cette session : {browser}',
  profileTitle: 'Profil',
  profileEdit: 'Modifier le profil',
  givenName: 'Prénom',
  familyName: 'Nom de famille',
  profileLanguageHint: 'Pour les e-mails que vous recevez.',
  languageOfBrowser: 'Comme dans votre navigateur',
  profileProblem: 'Corrigez ce champ : {field}.',
  profileTooOften: 'Vous avez modifié votre profil trop souvent. Attendez une heure.',
  emailEdit: 'Modifier l’adresse e-mail',
  emailLead: 'Vous pourrez vous connecter avec une nouvelle adresse dès qu’elle sera vérifiée.',
  save: 'Enregistrer',
  dataTitle: 'Vos données',
  dataLead:
    'Votre profil, vos moyens de connexion, vos navigateurs et vos applications dans un fichier JSON.',
  dataDownload: 'Télécharger',
  removeAccount: 'Supprimer le compte',
  removeQuestion: 'Supprimer votre compte ?',
  removeLead:
    'Toutes vos sessions seront fermées et toutes les applications perdront leur accès. Cette action est irréversible.',
  removeConfirm: 'Pour confirmer, saisissez votre nom d’utilisateur : {username}',
  removeProblem: 'Ce n’est pas votre nom d’utilisateur.',
  accountRemovedTitle: 'Votre compte a été supprimé',
  accountRemoved: 'Toutes vos sessions sont fermées.',

  // New passwords, at sign-in and by a link
  mustChangeTitle: 'Choisir un nouveau mot de passe',
  mustChangeLead: 'Vous devez modifier votre mot de passe avant de continuer.',
  setPassword: 'Définir le mot de passe',
  resetTitle: 'Choisir un mot de passe',
  resetLead: 'Il remplace l’ancien et vous déconnecte partout.',
  resetDoneTitle: 'Votre mot de passe est défini',
  resetDone: 'Vous pouvez maintenant l’utiliser pour vous connecter.',

  // Second factors, at sign-in and on the account page
  codeTitle: 'Saisir votre code',
  codeLead: 'Ouvrez votre application d’authentification et saisissez le code affiché.',
  code: 'Code',
  codeHint: 'Sans votre téléphone, saisissez un code de récupération.',
  codeWrong: 'Ce code est incorrect ou a déjà été utilisé. Attendez le suivant.',
  enrollTitle: 'Configurer une application d’authentification',
  enrollLead:
    'Scannez l’image avec une application d’authentification sur votre téléphone, puis saisissez le code affiché.',
  enrollDecline: 'Pas maintenant',
  appQrCode: 'Code QR pour l’application',
  appKey: 'Sans appareil photo, saisissez cette clé dans l’application : {key}',
  appOpen: 'Ouvrir l’application sur cet appareil',
  appCode: 'Code de l’application',
  appCodeWrong:
    'Ce code est incorrect. Vérifiez l’heure de votre téléphone et saisissez le code suivant.',
  recoveryTitle: 'Vos codes de récupération',
  recoveryLead:
    'Si vous perdez votre téléphone, chacun de ces codes vous permet de vous connecter une fois.',
  recoveryOnce: 'Imprimez-les ou enregistrez-les maintenant. Ils ne seront plus affichés.',
  recoveryLeft: 'Codes de récupération restants : {codes}.',
  recoveryRenew: 'Obtenir de nouveaux codes de récupération',
  factorTitle: 'Validation en deux étapes',
  factorLead: 'En plus de votre mot de passe, connectez-vous avec un code de votre téléphone.',
  factorState: 'Activée depuis le {since}. Dernière utilisation : {used}.',
  factorTurnOn: 'Activer',
  factorManage: 'Gérer',
  factorTurnOff: 'Désactiver',
  factorReplace: 'Utiliser une autre application',

  // Passkeys, at sign-in and on the account page
  passkey: 'Clé d’accès',
  passkeySignIn: 'Se connecter avec une clé d’accès',
  passkeyUse: 'Utiliser votre clé d’accès',
  passkeyLead: 'Continuez avec la clé d’accès que vous avez ajoutée à votre compte.',
  passkeyFailed:
    'La clé d’accès n’a pas été acceptée. Réessayez ou connectez-vous d’une autre façon.',
  passkeyNeedsScript: 'Les clés d’accès nécessitent JavaScript. Activez-le pour cette adresse.',
  passkeysTitle: 'Clés d’accès',
  passkeysLead:
    'Avec une clé d’accès, vous vous connectez avec votre empreinte digitale, votre visage ou le verrouillage de l’écran au lieu d’un mot de passe.',
  passkeysCount: 'Clés d’accès permettant de se connecter : {count}',
  passkeyAdd: 'Ajouter une clé d’accès',
  passkeyName: 'Nom de la clé d’accès',
  passkeyNewName: 'Nouveau nom pour {name}',
  passkeyRename: 'Renommer',
  passkeyRemove: 'Supprimer',
  passkeyRemoveLabel: 'Supprimer {name}',
  passkeyState: 'Ajoutée le {since}. Dernière utilisation : {used}.',
  passkeyUnused: 'jamais',
  passkeyBackedUp: 'Elle a une sauvegarde.',
  passkeyProblems: {
    wrong: 'La clé d’accès n’a pas été ajoutée. Réessayez.',
    exists: 'Vous avez déjà cette clé d’accès.',
    full: 'Vous avez 10 clés d’accès. Supprimez-en une avant d’en ajouter une autre.',
  },

  // Forgotten passwords
  forgotPassword: 'Mot de passe oublié ?',
  forgotTitle: 'Mot de passe oublié ?',
  forgotLead: 'Vous recevrez un e-mail avec un lien pour en choisir un nouveau.',
  usernameOrEmail: 'Nom d’utilisateur ou adresse e-mail',
  sendLink: 'Envoyer le lien',
  mailSentTitle: 'Consultez vos e-mails',
  forgotSent:
    'Si le compte a une adresse e-mail vérifiée, un e-mail avec un lien est en route. Le lien est valable une heure.',
  mailSentHint:
    'Aucun e-mail après quelques minutes ? Vérifiez le dossier des courriers indésirables.',
  backToSignIn: 'Retour à la connexion',

  // New accounts and addresses
  createAccount: 'Créer un compte',
  createAccountTitle: 'Créer votre compte',
  registerLead:
    'Saisissez votre adresse e-mail. Vous recevrez un e-mail avec un lien pour continuer.',
  registerSent: 'Un e-mail est en route. Suivez le lien qu’il contient pour continuer.',
  addressInvalid: 'Ce n’est pas une adresse e-mail.',
  addressDomains: 'Saisissez une adresse qui se termine par {domains}.',
  createAccountLead: 'Pour {email}, dans l’organisation {organization}.',
  createAccountButton: 'Créer le compte',
  accountProblems: {
    name: 'Saisissez un nom.',
    username: 'Choisissez un nom d’utilisateur sans @ et sans espace au début ni à la fin.',
    taken: 'Ce nom d’utilisateur est déjà pris. Choisissez-en un autre.',
  },
  accountCreatedTitle: 'Votre compte est prêt',
  accountCreated: 'Vous pouvez maintenant vous connecter.',
  verifyTitle: 'Vérifier votre adresse e-mail',
  verifyLead: '{email} est-elle votre adresse ?',
  confirmAddress: 'Oui, vérifier',
  verifyDoneTitle: 'Votre adresse est vérifiée',
  verifyDone: 'Vous pouvez l’utiliser pour vous connecter.',

  // Mails
  mails: {
    reset: {
      subject: 'Choisissez un nouveau mot de passe sur {host}',
      lead: 'Quelqu’un a demandé un nouveau mot de passe pour votre compte {username} sur {host}.',
      label: 'Choisir un nouveau mot de passe',
    },
    verify: {
      subject: 'Vérifiez votre adresse e-mail sur {host}',
      lead: 'Vérifiez que cette adresse appartient à votre compte {username} sur {host}.',
      label: 'Vérifier l’adresse',
    },
    register: {
      subject: 'Créez votre compte sur {host}',
      lead: 'Quelqu’un a demandé un compte avec cette adresse sur {host}, dans l’organisation {organization}.',
      label: 'Créer le compte',
    },
    exists: {
      subject: 'Vous avez un compte sur {host}',
      lead: 'Quelqu’un a demandé un compte avec cette adresse sur {host}. Vous en avez déjà un : {username}.',
      label: 'Accéder à votre compte',
    },
    changed: {
      subject: 'Modification de votre compte sur {host}',
      lead: 'Élément modifié dans votre compte {username} sur {host} : {change}.',
      label: 'Accéder à votre compte',
    },
    invite: {
      subject: 'Invitation à rejoindre {organization}',
      lead: '{organization} vous invite à créer un compte sur {host}.',
      label: 'Créer le compte',
    },
  },
  mailValidHour: 'Le lien fonctionne une seule fois, pendant une heure.',
  mailValidDay: 'Le lien fonctionne une seule fois, pendant un jour.',
  mailValidWeek: 'Le lien fonctionne une seule fois, pendant une semaine.',
  mailOrigin: 'La demande vient de l’adresse {address} ({agent}), le {time}.',
  mailIgnore: 'Si vous n’attendiez pas cet e-mail, ignorez-le. Sans le lien, rien ne change.',
  mailNotYou:
    'Si ce n’était pas vous, changez immédiatement votre mot de passe et contactez l’opérateur.',

  backToAccount: 'Retour à votre compte',
  everywhereQuestion: 'Se déconnecter partout ?',
  everywhereLead:
    'Vous déconnecte immédiatement de tous les navigateurs, applications et appareils, y compris ce navigateur. Utilisez cette option si vous avez perdu un appareil ou si quelque chose semble anormal.',
  signOutEverywhere: 'Se déconnecter partout',
  signedOutEverywhereTitle: 'Toutes vos sessions sont fermées',
  signedOutEverywhere:
    'Plus aucun navigateur, aucune application ni aucun appareil n’a accès à votre compte.',

  // Errors
  errorTitles: {
    signInExpired: 'Cette connexion a expiré',
    signInStartAgain: 'Cette connexion a été interrompue',
    signInCompleted: 'Retour à l’application',
    tooManyAttempts: 'Trop de tentatives',
    tooManyRequests: 'Trop de requêtes',
    formRefused: 'Le formulaire n’a pas été accepté',
    wasSignedOut: 'Votre session est fermée',
    unavailable: 'Indisponible pour le moment',
    unexpected: 'Une erreur sur le serveur',
    notFound: 'Page introuvable',
    badRequest: 'L’application a envoyé une requête non valide',
    methodNotAllowed: 'Cela ne fonctionne pas ici',
    cookiesNeeded: 'Les cookies sont nécessaires',
    cookiesBlocked: 'Les cookies sont nécessaires',
    tooManyMails: 'Trop de demandes',
    linkInvalid: 'Ce lien ne peut pas être utilisé',
    upstreamFailed: 'La connexion avec l’autre service a échoué',
    upstreamRefused: 'Ce compte n’est pas connu ici',
    upstreamTaken: 'Le compte n’a pas été associé',
  },
  tryAgain: 'Réessayer',
  errorReference: 'Si vous demandez de l’aide, indiquez cette référence : {reference}',
  signInExpired:
    'Cette connexion a expiré ou a été commencée dans un autre navigateur. Retournez à l’application et recommencez.',
  signInStartAgain: 'Cette connexion ne peut plus être utilisée. Recommencez.',
  signInCompleted:
    'Vous avez déjà terminé cette étape. Continuez dans l’application. Si elle n’est pas dans cette fenêtre, fermez cette page.',
  startAgain: 'Recommencer',
  formRefused:
    'Ce formulaire n’est plus valide : il est trop ancien ou a été ouvert ailleurs. Revenez en arrière et recommencez.',
  wasSignedOut: 'Votre session a été fermée entre-temps. Pour continuer, reconnectez-vous.',
  unavailable: 'Le service est temporairement indisponible. Réessayez dans un instant.',
  unexpected:
    'Un problème est survenu sur le serveur. Réessayez. Si le problème persiste, contactez l’opérateur.',
  startPage: 'Aller à la page d’accueil',
  tooManyAttempts:
    'Il y a eu trop de tentatives de connexion. Attendez un quart d’heure et réessayez.',
  tooManyRequests: 'Ce réseau envoie trop de requêtes. Attendez une minute et réessayez.',
  notFound: 'Cette page n’existe pas.',
  badRequest: 'Le développeur de l’application doit corriger ce problème.',
  methodNotAllowed:
    'Cette page ne peut pas être utilisée de cette façon. Revenez en arrière et recommencez.',
  tooManyMails: 'Il y a eu trop de demandes. Attendez un quart d’heure et réessayez.',
  linkInvalid: 'Ce lien a expiré ou a déjà été utilisé. Demandez-en un nouveau.',
  upstreamFailed: 'Réessayez ou connectez-vous d’une autre façon.',
  upstreamRefused:
    'Ce compte ne permet pas de vous connecter ici. Connectez-vous d’une autre façon. Vous pourrez ensuite l’associer sur la page de votre compte.',
  upstreamTaken:
    'Ce compte ne peut pas être associé. Il sert peut-être déjà à une autre personne pour se connecter ici.',
  upstreamBack: 'Se connecter d’une autre façon',
  cookiesNeeded:
    'Votre session n’est pas ouverte. Votre navigateur bloque peut-être les cookies. Autorisez-les pour cette adresse et réessayez.',
  cookiesBlocked:
    'Votre navigateur n’a envoyé aucun cookie. Il les bloque peut-être, ou cette page a été ouverte dans un autre navigateur. Autorisez les cookies pour cette adresse, puis retournez à l’application et recommencez.',

  scopes: {
    'device:read': 'Voir vos appareils et leurs détails',
    'device:write': 'Ajouter des appareils et les modifier',
    'device:log': 'Lire les journaux de vos appareils',
    'device:report': 'Transmettre des données pour vos appareils',
    openid: 'Confirmer votre identité',
    profile: 'Voir votre nom et votre nom d’utilisateur',
    email: 'Voir votre adresse e-mail',
    groups: 'Voir votre organisation et vos rôles',
    offline_access: 'Conserver cet accès lorsque votre session est fermée',
  },
};
