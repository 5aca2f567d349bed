import type { Texts } from './texts-en.ts';

export const spanish: Texts = {
  language: 'es',

  // Every page
  languageName: 'Español',
  languageMenu: 'Idioma',
  help: 'Ayuda',
  privacy: 'Privacidad',
  terms: 'Términos',
  helpContact: 'Si necesita ayuda, diríjase a {contact}.',
  showPassword: 'Mostrar la contraseña',

  // Sign-in and consent
  signInLead: 'para continuar en {client}',
  signInLeadAccount: 'para ver y administrar su cuenta',
  username: 'Nombre de usuario',
  password: 'Contraseña',
  signIn: 'Iniciar sesión',
  rememberMe: 'Mantener la sesión iniciada en este navegador',
  signInFailed:
    'El nombre de usuario y la contraseña no corresponden a ninguna cuenta. Revise ambos e inténtelo de nuevo.',
  signInFailedWait: 'Tras varios intentos incorrectos, espere 15 minutos.',
  consentTitle: '{client} solicita acceso',
  consentLead: 'Si lo permite, esta aplicación podrá:',
  signedInAs: 'Sesión iniciada como {name}',
  useAnotherAccount: 'Usar otra cuenta',
  keepAccount: 'Continuar como {name}',
  organization: 'Organización',
  consentDestination: 'Continúa en',
  consentToDevice: 'Su dispositivo',
  consentApplicationId: 'ID de la aplicación',
  applicationId: 'ID de la aplicación: {clientId}',
  consentSite: 'Está dando acceso a',
  consentUnknownSite:
    'El operador de este servidor no conoce este sitio web. Permita el acceso solo si fue usted quien inició este proceso y confía en el sitio web.',
  endAnyTime: 'Puede retirar este acceso en cualquier momento en la página de su cuenta.',
  allow: 'Permitir',
  deny: 'Rechazar',
  chooseAccountTitle: 'Elija una cuenta',
  returningTitle: 'Volver a la aplicación',
  welcomeTitle: 'Una cuenta para sus dispositivos',
  welcomeLead: 'Inicie sesión para ver su perfil y las aplicaciones con acceso a su cuenta.',
  openAccount: 'Ir a su cuenta',
  connectDevice: 'Conectar un dispositivo',
  signInLinkNeedsScript:
    '¿Ha llegado aquí desde una aplicación para iniciar sesión? El enlace de la aplicación necesita JavaScript. Active JavaScript para esta dirección y vuelva a abrir el enlace.',

  // Devices
  deviceLead: 'Introduzca el código que muestra su dispositivo.',
  deviceLeadPrefilled: 'Compare este código con el de su dispositivo. Continúe solo si coinciden.',
  userCode: 'Código',
  userCodeHint: '8 letras, como BCDF-GHJK',
  continue: 'Continuar',
  deviceConfirmTitle: '¿Es este su dispositivo?',
  deviceConfirmLead: 'Su dispositivo debe mostrar exactamente este código:',
  deviceGets:
    'En el dispositivo con este código, {client} obtiene acceso a su cuenta. Usted le permite:',
  deviceAsks:
    'En el dispositivo con este código, {client} solicita acceso a su cuenta. Usted decidirá sobre el acceso en las páginas siguientes.',
  deviceWarning:
    'Deténgase aquí si alguien le envió este código o un enlace a esta página. La persona que tiene el dispositivo obtendrá el acceso que usted permita.',
  deviceConfirm: 'Sí, los códigos coinciden',
  deviceCancel: 'No, cancelar',
  deviceDoneTitle: 'Su dispositivo está conectado',
  deviceDone: '{client} continuará en unos segundos. Puede cerrar esta página.',
  deviceStoppedTitle: 'No se ha conectado nada',
  deviceStopped: 'Su dispositivo no tiene acceso. En él se indicará que usted lo ha rechazado.',
  deviceAnother: 'Introducir otro código',
  deviceNotFound: 'Este código no existe. Compárelo con el código de su dispositivo.',
  deviceExpired:
    'Este código ha caducado. Obtenga un código nuevo en su dispositivo e introdúzcalo.',
  deviceUsed:
    'Este código ya se ha usado. Obtenga un código nuevo en su dispositivo e introdúzcalo.',
  deviceStale:
    'Esta página ha estado abierta demasiado tiempo o en dos pestañas. Vuelva a introducir el código.',
  deviceCookiesBlocked:
    'Su navegador no ha enviado cookies, por lo que es posible que las bloquee. Permita las cookies para esta dirección y vuelva a introducir el código.',
  deviceRefused:
    'Este dispositivo no se puede conectar. Obtenga un código nuevo en el dispositivo o póngase en contacto con el fabricante.',
  deviceTooMany: 'Demasiados códigos incorrectos. Espere {time} e inténtelo de nuevo.',
  deviceSignInFirst:
    'Aquí se han introducido demasiados códigos incorrectos. Inicie sesión primero y luego introduzca su código, o espere {time}.',

  // Sign-in with an upstream provider
  upstreamContinue: 'Continuar con {provider}',
  upstreamsTitle: 'Otras cuentas para iniciar sesión',
  upstreamConnected: 'Vinculada',
  upstreamConnect: 'Vincular {provider}',
  upstreamDisconnect: 'Desvincular {provider}',
  upstreamOnlyWay: 'Es su única forma de iniciar sesión, por lo que no se puede desvincular.',

  // Sign-out of this browser
  logoutTitle: '¿Cerrar sesión?',
  logoutLead: 'Ha iniciado sesión como {name}.',
  logoutEnds:
    'Al salir, se cierra la sesión de este navegador y estas aplicaciones pierden el acceso:',
  logoutEndsNothing: 'Al salir, se cierra la sesión de este navegador.',
  logoutKeepsDevices:
    'Los dispositivos que conectó con un código siguen conectados. Puede retirarles el acceso en la página de su cuenta.',
  logoutKeepsUpstreams: 'Al salir de aquí, no se cierra su sesión en {providers}.',
  signOut: 'Cerrar sesión',
  staySignedIn: 'Mantener la sesión',
  signedOutTitle: 'Ha cerrado la sesión',
  signedOut: 'En un equipo compartido, cierre también el navegador.',
  signInAgain: 'Volver a iniciar sesión',

  // Account
  accountTitle: 'Su cuenta',
  accountName: 'Nombre',
  accountEmail: 'Correo electrónico',
  accountEmailUnverified: 'sin verificar',
  accountRoles: 'Roles',
  accountId: 'ID de la cuenta',
  applicationsTitle: 'Aplicaciones con acceso',
  applicationsNone: 'Ninguna aplicación tiene acceso a su cuenta.',
  applicationSince: 'Desde el {day}',
  applicationGone: 'Esta aplicación ya no está registrada aquí.',
  revoke: 'Retirar el acceso',
  revokeLabel: 'Retirar el acceso de {client}',
  passwordLead:
    'Al cambiarla, se cierra la sesión en sus demás navegadores y en todas las aplicaciones y dispositivos.',
  changePassword: 'Cambiar la contraseña',
  currentPassword: 'Contraseña actual',
  newPassword: 'Nueva contraseña',
  newPasswordHint: 'Al menos 8 caracteres. Varias palabras seguidas son fáciles de recordar.',
  repeatPassword: 'Repita la nueva contraseña',
  passwordProblems: {
    wrong: 'La contraseña actual es incorrecta.',
    short: 'La nueva contraseña debe tener al menos 8 caracteres.',
    long: 'La nueva contraseña es demasiado larga.',
    username:
      'La nueva contraseña no puede ser el nombre de usuario, con o sin cifras. Elija otra, por ejemplo, cuatro palabras al azar.',
    product:
      'La nueva contraseña no puede ser el nombre de este producto, con o sin cifras. Elija otra, por ejemplo, cuatro palabras al azar.',
    common:
      'La nueva contraseña es una de las más comunes. Elija otra, por ejemplo, cuatro palabras al azar.',
    pattern:
      'La nueva contraseña es una secuencia o una repetición. Elija otra, por ejemplo, cuatro palabras al azar.',
    same: 'La nueva contraseña es la que ya tiene.',
    differs: 'Las dos contraseñas nuevas no coinciden.',
  },
  accountNotices: {
    revoked: 'Se ha retirado el acceso.',
    session: 'Se ha cerrado la sesión.',
    profile: 'Se ha guardado su perfil.',
    email: 'Se ha guardado su dirección de correo electrónico.',
    verify: 'Recibirá un correo en breve. Verifique la dirección con el enlace del correo.',
    password: 'Se ha cambiado su contraseña. Se han cerrado todas las demás sesiones.',
    factorsRemoved: 'La verificación en dos pasos está desactivada.',
    passkeyAdded: 'Se ha añadido la llave de acceso.',
    connected: 'Se ha vinculado la cuenta.',
    disconnected: 'Se ha desvinculado la cuenta.',
  },
  // Account: browsers, profile, own data
  browsersTitle: 'Navegadores',
  browserOn: '{browser} en {system}',
  browserUnknown: 'Navegador desconocido',
  browserCurrent: 'Este navegador',
  browserSince: 'Sesión iniciada el {day}',
  browserUsed: 'Último uso: {day}',
  browserUsedFrom: 'Último uso: {day}, desde {address}',
  browsersMore: 'Y {count} más. Para cerrar también esas sesiones, cierre sesión en todas partes.',
  endSession: 'Cerrar esta sesión',
  endSessionLabel: 'Cerrar esta sesión: {browser}',
  profileTitle: 'Perfil',
  profileEdit: 'Editar el perfil',
  givenName: 'Nombre de pila',
  familyName: 'Apellidos',
  profileLanguageHint: 'Para los correos que reciba.',
  languageOfBrowser: 'El mismo que en el navegador',
  profileProblem: 'Corrija este campo: {field}.',
  profileTooOften: 'Ha cambiado su perfil demasiadas veces. Espere una hora.',
  emailEdit: 'Cambiar el correo electrónico',
  emailLead: 'Podrá iniciar sesión con una dirección nueva cuando esté verificada.',
  save: 'Guardar',
  dataTitle: 'Sus datos',
  dataLead:
    'Su perfil, sus métodos de inicio de sesión, sus navegadores y sus aplicaciones en un archivo JSON.',
  dataDownload: 'Descargar',
  removeAccount: 'Eliminar la cuenta',
  removeQuestion: '¿Eliminar su cuenta?',
  removeLead:
    'Se cerrará su sesión en todas partes y todas las aplicaciones perderán el acceso. Esta acción no se puede deshacer.',
  removeConfirm: 'Para confirmar, introduzca su nombre de usuario: {username}',
  removeProblem: 'Este no es su nombre de usuario.',
  accountRemovedTitle: 'Su cuenta se ha eliminado',
  accountRemoved: 'Su sesión se ha cerrado en todas partes.',

  // New passwords, at sign-in and by a link
  mustChangeTitle: 'Elija una nueva contraseña',
  mustChangeLead: 'Debe cambiar su contraseña antes de continuar.',
  setPassword: 'Establecer la contraseña',
  resetTitle: 'Elija una contraseña',
  resetLead: 'Sustituye a la anterior y cierra su sesión en todas partes.',
  resetDoneTitle: 'Se ha establecido su contraseña',
  resetDone: 'Ya puede iniciar sesión con ella.',

  // Second factors, at sign-in and on the account page
  codeTitle: 'Introduzca su código',
  codeLead: 'Abra su aplicación de autenticación e introduzca el código que muestra.',
  code: 'Código',
  codeHint: 'Si no tiene su teléfono, introduzca un código de recuperación.',
  codeWrong: 'Este código es incorrecto o ya se ha usado. Espere el siguiente.',
  enrollTitle: 'Configure una aplicación de autenticación',
  enrollLead:
    'Escanee la imagen con una aplicación de autenticación en su teléfono e introduzca el código que muestra.',
  enrollDecline: 'Ahora no',
  appQrCode: 'Código QR para la aplicación',
  appKey: 'Si no tiene cámara, introduzca esta clave en la aplicación: {key}',
  appOpen: 'Abrir la aplicación en este dispositivo',
  appCode: 'Código de la aplicación',
  appCodeWrong:
    'Este código es incorrecto. Compruebe la hora de su teléfono e introduzca el código siguiente.',
  recoveryTitle: 'Sus códigos de recuperación',
  recoveryLead:
    'Si pierde el teléfono, puede iniciar sesión una vez con cada uno de estos códigos.',
  recoveryOnce: 'Imprímalos o guárdelos ahora. No se volverán a mostrar.',
  recoveryLeft: 'Códigos de recuperación restantes: {codes}.',
  recoveryRenew: 'Obtener nuevos códigos de recuperación',
  factorTitle: 'Verificación en dos pasos',
  factorLead: 'Además de su contraseña, use un código de su teléfono para iniciar sesión.',
  factorState: 'Activada desde el {since}. Último uso: {used}.',
  factorTurnOn: 'Activar',
  factorManage: 'Administrar',
  factorTurnOff: 'Desactivar',
  factorReplace: 'Usar otra aplicación',

  // Passkeys, at sign-in and on the account page
  passkey: 'Llave de acceso',
  passkeySignIn: 'Iniciar sesión con una llave de acceso',
  passkeyUse: 'Use su llave de acceso',
  passkeyLead: 'Continúe con la llave de acceso que añadió a su cuenta.',
  passkeyFailed:
    'No se ha aceptado la llave de acceso. Inténtelo de nuevo o inicie sesión de otra forma.',
  passkeyNeedsScript: 'Las llaves de acceso necesitan JavaScript. Actívelo para esta dirección.',
  passkeysTitle: 'Llaves de acceso',
  passkeysLead:
    'Con una llave de acceso, inicia sesión con la huella digital, la cara o el bloqueo de pantalla en lugar de una contraseña.',
  passkeysCount: 'Llaves de acceso para iniciar sesión: {count}',
  passkeyAdd: 'Añadir una llave de acceso',
  passkeyName: 'Nombre de la llave de acceso',
  passkeyNewName: 'Nuevo nombre de {name}',
  passkeyRename: 'Cambiar el nombre',
  passkeyRemove: 'Eliminar',
  passkeyRemoveLabel: 'Eliminar {name}',
  passkeyState: 'Añadida el {since}. Último uso: {used}.',
  passkeyUnused: 'nunca',
  passkeyBackedUp: 'Tiene copia de seguridad.',
  passkeyProblems: {
    wrong: 'No se ha añadido la llave de acceso. Inténtelo de nuevo.',
    exists: 'Ya tiene esta llave de acceso.',
    full: 'Tiene 10 llaves de acceso. Elimine una antes de añadir otra.',
  },

  // Forgotten passwords
  forgotPassword: '¿Ha olvidado la contraseña?',
  forgotTitle: '¿Ha olvidado su contraseña?',
  forgotLead: 'Recibirá un correo con un enlace para elegir una nueva.',
  usernameOrEmail: 'Nombre de usuario o correo electrónico',
  sendLink: 'Enviar enlace',
  mailSentTitle: 'Revise su correo',
  forgotSent:
    'Si la cuenta tiene una dirección de correo electrónico verificada, recibirá en breve un correo con un enlace. El enlace es válido durante una hora.',
  mailSentHint:
    '¿No ha llegado el correo después de unos minutos? Mire en la carpeta de correo no deseado.',
  backToSignIn: 'Volver al inicio de sesión',

  // New accounts and addresses
  createAccount: 'Crear una cuenta',
  createAccountTitle: 'Cree su cuenta',
  registerLead:
    'Introduzca su dirección de correo electrónico. Recibirá un correo con un enlace para continuar.',
  registerSent: 'Recibirá un correo en breve. Abra el enlace del correo para continuar.',
  addressInvalid: 'Esto no es una dirección de correo electrónico.',
  addressDomains: 'Introduzca una dirección que termine en {domains}.',
  createAccountLead: 'Para {email}, en {organization}.',
  createAccountButton: 'Crear cuenta',
  accountProblems: {
    name: 'Introduzca un nombre.',
    username: 'Elija un nombre de usuario sin @ y sin espacios al principio ni al final.',
    taken: 'Este nombre de usuario ya está en uso. Elija otro.',
  },
  accountCreatedTitle: 'Su cuenta está lista',
  accountCreated: 'Ya puede iniciar sesión.',
  verifyTitle: 'Verifique su dirección de correo electrónico',
  verifyLead: '¿Es {email} su dirección?',
  confirmAddress: 'Sí, verificar',
  verifyDoneTitle: 'Su dirección está verificada',
  verifyDone: 'Puede iniciar sesión con ella.',

  // Mails
  mails: {
    reset: {
      subject: 'Elija una nueva contraseña en {host}',
      lead: 'Alguien ha solicitado una nueva contraseña para su cuenta {username} en {host}.',
      label: 'Elegir una nueva contraseña',
    },
    verify: {
      subject: 'Verifique su dirección de correo electrónico en {host}',
      lead: 'Verifique que esta dirección pertenece a su cuenta {username} en {host}.',
      label: 'Verificar la dirección',
    },
    register: {
      subject: 'Cree su cuenta en {host}',
      lead: 'Alguien ha solicitado una cuenta con esta dirección en {host}, en la organización {organization}.',
      label: 'Crear la cuenta',
    },
    exists: {
      subject: 'Tiene una cuenta en {host}',
      lead: 'Alguien ha solicitado una cuenta con esta dirección en {host}. Usted ya tiene una: {username}.',
      label: 'Ir a su cuenta',
    },
    changed: {
      subject: 'Cambio en su cuenta de {host}',
      lead: 'Ha cambiado lo siguiente en su cuenta {username} de {host}: {change}.',
      label: 'Ir a su cuenta',
    },
    invite: {
      subject: 'Invitación a {organization}',
      lead: '{organization} le invita a crear una cuenta en {host}.',
      label: 'Crear la cuenta',
    },
  },
  mailValidHour: 'El enlace se puede usar una sola vez y es válido durante una hora.',
  mailValidDay: 'El enlace se puede usar una sola vez y es válido durante un día.',
  mailValidWeek: 'El enlace se puede usar una sola vez y es válido durante una semana.',
  mailOrigin: 'La solicitud se envió desde {address} ({agent}). Fecha y hora: {time}.',
  mailIgnore: 'Si no esperaba este correo, ignórelo. Si no se usa el enlace, no cambia nada.',
  mailNotYou: 'Si no fue usted, cambie su contraseña ahora y póngase en contacto con el operador.',

  backToAccount: 'Volver a su cuenta',
  everywhereQuestion: '¿Cerrar sesión en todas partes?',
  everywhereLead:
    'Cierra su sesión en todos los navegadores, aplicaciones y dispositivos a la vez, incluido este navegador. Úselo si ha perdido un dispositivo o si algo no parece normal.',
  signOutEverywhere: 'Cerrar sesión en todas partes',
  signedOutEverywhereTitle: 'Ha cerrado sesión en todas partes',
  signedOutEverywhere: 'Ningún navegador, aplicación ni dispositivo tiene ya acceso a su cuenta.',

  // Errors
  errorTitles: {
    signInExpired: 'Este inicio de sesión ha caducado',
    signInStartAgain: 'Este inicio de sesión ha terminado',
    signInCompleted: 'Volver a la aplicación',
    tooManyAttempts: 'Demasiados intentos',
    tooManyRequests: 'Demasiadas solicitudes',
    formRefused: 'El formulario no se ha aceptado',
    wasSignedOut: 'Su sesión se ha cerrado',
    unavailable: 'No disponible en este momento',
    unexpected: 'Error en el servidor',
    notFound: 'Página no encontrada',
    badRequest: 'La aplicación ha enviado una solicitud no válida',
    methodNotAllowed: 'Esto no funciona aquí',
    cookiesNeeded: 'Se necesitan cookies',
    cookiesBlocked: 'Se necesitan cookies',
    tooManyMails: 'Demasiadas solicitudes',
    linkInvalid: 'Este enlace no se puede usar',
    upstreamFailed: 'El otro servicio no completó el inicio de sesión',
    upstreamRefused: 'Aquí no se reconoce esa cuenta',
    upstreamTaken: 'No se ha vinculado la cuenta',
  },
  tryAgain: 'Intentar de nuevo',
  errorReference: 'Si pide ayuda, indique esta referencia: {reference}',
  signInExpired:
    'Este inicio de sesión ha caducado o se inició en otro navegador. Vuelva a la aplicación y empiece de nuevo.',
  signInStartAgain: 'Este inicio de sesión ya no se puede usar. Empiece de nuevo.',
  signInCompleted:
    'Ya ha completado este paso. Continúe en la aplicación. Si no está en esta ventana, cierre esta página.',
  startAgain: 'Empezar de nuevo',
  formRefused:
    'Este formulario ya no es válido: es demasiado antiguo o se abrió en otro lugar. Vuelva atrás y empiece de nuevo.',
  wasSignedOut: 'Su sesión se ha cerrado entretanto. Para continuar, vuelva a iniciar sesión.',
  unavailable: 'El servicio no está disponible temporalmente. Inténtelo de nuevo en unos momentos.',
  unexpected:
    'Se ha producido un error en el servidor. Inténtelo de nuevo. Si el problema continúa, póngase en contacto con el operador.',
  startPage: 'Ir a la página de inicio',
  tooManyAttempts:
    'Ha habido demasiados intentos de iniciar sesión. Espere 15 minutos e inténtelo de nuevo.',
  tooManyRequests: 'Esta red envía demasiadas solicitudes. Espere un minuto e inténtelo de nuevo.',
  notFound: 'Esta página no existe.',
  badRequest: 'El desarrollador de la aplicación debe corregir la solicitud.',
  methodNotAllowed: 'Esta página no se puede usar de esta forma. Vuelva atrás y empiece de nuevo.',
  tooManyMails: 'Ha habido demasiadas solicitudes. Espere 15 minutos e inténtelo de nuevo.',
  linkInvalid: 'Este enlace ha caducado o ya se ha usado. Solicite uno nuevo.',
  upstreamFailed: 'Inténtelo de nuevo o inicie sesión de otra forma.',
  upstreamRefused:
    'No puede iniciar sesión aquí con esa cuenta. Inicie sesión de otra forma. Después podrá vincularla en la página de su cuenta.',
  upstreamTaken:
    'Esa cuenta no se puede vincular. Es posible que otra persona ya inicie sesión aquí con ella.',
  upstreamBack: 'Iniciar sesión de otra forma',
  cookiesNeeded:
    'No ha iniciado sesión. Es posible que su navegador bloquee las cookies. Permítalas para esta dirección e inténtelo de nuevo.',
  cookiesBlocked:
    'Su navegador no ha enviado cookies. Es posible que las bloquee o que esta página se haya abierto en otro navegador. Permita las cookies para esta dirección, vuelva a la aplicación y empiece de nuevo.',

  /** What each scope lets an application do, as the end of "this application will be able to". */
  scopes: {
    'device:read': 'Ver sus dispositivos y sus detalles',
    'device:write': 'Añadir dispositivos y modificarlos',
    'device:log': 'Leer los registros de sus dispositivos',
    'device:report': 'Enviar datos en nombre de sus dispositivos',
    openid: 'Confirmar quién es usted',
    profile: 'Ver su nombre y su nombre de usuario',
    email: 'Ver su dirección de correo electrónico',
    groups: 'Ver su organización y sus roles',
    offline_access: 'Mantener este acceso cuando usted no tenga la sesión iniciada',
  },
};
