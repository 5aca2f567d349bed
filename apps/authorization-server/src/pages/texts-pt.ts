import type { Texts } from './texts-en.ts';

/** Of Brazil. */
export const portuguese: Texts = {
  language: 'pt-BR',

  // Every page
  languageName: 'Português',
  languageMenu: 'Idioma',
  help: 'Ajuda',
  privacy: 'Privacidade',
  terms: 'Termos',
  helpContact: 'Se precisar de ajuda, entre em contato com {contact}.',
  showPassword: 'Mostrar senha',

  // Sign-in and consent
  signInLead: 'para continuar em {client}',
  signInLeadAccount: 'para ver e gerenciar sua conta',
  username: 'Nome de usuário',
  password: 'Senha',
  signIn: 'Entrar',
  rememberMe: 'Manter a sessão aberta neste navegador',
  signInFailed:
    'O nome de usuário e a senha não correspondem a nenhuma conta. Verifique os dois e tente novamente.',
  signInFailedWait: 'Depois de várias tentativas erradas, aguarde 15 minutos.',
  consentTitle: '{client} solicita acesso',
  consentLead: 'Se você permitir, este aplicativo poderá:',
  signedInAs: 'Você entrou como {name}',
  useAnotherAccount: 'Usar outra conta',
  keepAccount: 'Continuar como {name}',
  organization: 'Organização',
  consentDestination: 'Continua em',
  consentToDevice: 'Seu dispositivo',
  consentApplicationId: 'ID do aplicativo',
  applicationId: 'ID do aplicativo: {clientId}',
  consentSite: 'Você está dando acesso a',
  consentUnknownSite:
    'O operador deste servidor não conhece este site. Permita o acesso somente se foi você quem iniciou este processo e se você confia no site.',
  endAnyTime: 'Você pode remover este acesso a qualquer momento na página da sua conta.',
  allow: 'Permitir',
  deny: 'Recusar',
  chooseAccountTitle: 'Escolha uma conta',
  returningTitle: 'Voltar ao aplicativo',
  welcomeTitle: 'Uma conta para seus dispositivos',
  welcomeLead: 'Entre para ver seu perfil e os aplicativos com acesso à sua conta.',
  openAccount: 'Ir para sua conta',
  connectDevice: 'Conectar um dispositivo',
  signInLinkNeedsScript:
    'Um aplicativo trouxe você aqui para entrar? O link dele precisa de JavaScript. Ative o JavaScript para este endereço e abra o link novamente.',

  // Devices
  deviceLead: 'Digite o código que seu dispositivo mostra.',
  deviceLeadPrefilled:
    'Compare este código com o do seu dispositivo. Continue somente se eles forem iguais.',
  userCode: 'Código',
  userCodeHint: '8 letras, como BCDF-GHJK',
  continue: 'Continuar',
  deviceConfirmTitle: 'Este é o seu dispositivo?',
  deviceConfirmLead: 'Seu dispositivo deve mostrar exatamente este código:',
  deviceGets:
    'No dispositivo com este código, {client} terá acesso à sua conta. Você concede estas permissões:',
  deviceAsks:
    'No dispositivo com este código, {client} solicita acesso à sua conta. Você decide sobre o acesso nas próximas páginas.',
  deviceWarning:
    'Pare aqui se alguém enviou a você este código ou um link para esta página. A pessoa que está com o dispositivo terá o acesso que você permitir.',
  deviceConfirm: 'Sim, os códigos são iguais',
  deviceCancel: 'Não, cancelar',
  deviceDoneTitle: 'Seu dispositivo está conectado',
  deviceDone: '{client} continuará em alguns segundos. Você pode fechar esta página.',
  deviceStoppedTitle: 'Nada foi conectado',
  deviceStopped: 'Seu dispositivo não tem acesso. Ele mostrará que você recusou.',
  deviceAnother: 'Digitar outro código',
  deviceNotFound: 'Este código não existe. Compare-o com o código no seu dispositivo.',
  deviceExpired: 'Este código expirou. Obtenha um novo código no seu dispositivo e digite-o.',
  deviceUsed: 'Este código já foi usado. Obtenha um novo código no seu dispositivo e digite-o.',
  deviceStale:
    'Esta página ficou aberta por muito tempo ou em duas abas. Digite o código novamente.',
  deviceCookiesBlocked:
    'Seu navegador não enviou cookies, então talvez ele os bloqueie. Permita cookies para este endereço e digite o código novamente.',
  deviceRefused:
    'Não é possível conectar este dispositivo. Obtenha um novo código no dispositivo ou entre em contato com o fabricante.',
  deviceTooMany: 'Muitos códigos errados. Aguarde {time} e tente novamente.',
  deviceSignInFirst:
    'Muitos códigos errados foram digitados aqui. Entre primeiro e depois digite seu código, ou aguarde {time}.',

  // Sign-in with an upstream provider
  upstreamContinue: 'Continuar com {provider}',
  upstreamsTitle: 'Outras contas para entrar',
  upstreamConnected: 'Vinculada',
  upstreamConnect: 'Vincular {provider}',
  upstreamDisconnect: 'Desvincular {provider}',
  upstreamOnlyWay: 'É sua única forma de entrar, por isso não pode ser desvinculada.',

  // Sign-out of this browser
  logoutTitle: 'Sair da conta?',
  logoutLead: 'Você entrou como {name}.',
  logoutEnds: 'Ao sair, a sessão deste navegador é encerrada e estes aplicativos perdem o acesso:',
  logoutEndsNothing: 'Ao sair, a sessão deste navegador é encerrada.',
  logoutKeepsDevices:
    'Os dispositivos que você conectou com um código continuam conectados. Você pode remover o acesso deles na página da sua conta.',
  logoutKeepsUpstreams: 'Ao sair daqui, sua sessão em {providers} não é encerrada.',
  signOut: 'Sair',
  staySignedIn: 'Manter a sessão',
  signedOutTitle: 'Você saiu da conta',
  signedOut: 'Em um computador compartilhado, feche também o navegador.',
  signInAgain: 'Entrar novamente',

  // Account
  accountTitle: 'Sua conta',
  accountName: 'Nome',
  accountEmail: 'E-mail',
  accountEmailUnverified: 'não verificado',
  accountRoles: 'Funções',
  accountId: 'ID da conta',
  applicationsTitle: 'Aplicativos com acesso',
  applicationsNone: 'Nenhum aplicativo tem acesso à sua conta.',
  applicationSince: 'Desde {day}',
  applicationGone: 'Este aplicativo não está mais registrado aqui.',
  revoke: 'Remover acesso',
  revokeLabel: 'Remover acesso de {client}',
  passwordLead:
    'Ao alterá-la, a sessão é encerrada nos seus outros navegadores e em todos os aplicativos e dispositivos.',
  changePassword: 'Alterar senha',
  currentPassword: 'Senha atual',
  newPassword: 'Nova senha',
  newPasswordHint: 'Pelo menos 8 caracteres. Algumas palavras seguidas são fáceis de lembrar.',
  repeatPassword: 'Repita a nova senha',
  passwordProblems: {
    wrong: 'A senha atual está errada.',
    short: 'A nova senha deve ter pelo menos 8 caracteres.',
    long: 'A nova senha é longa demais.',
    username:
      'A nova senha não pode ser o nome de usuário, com ou sem números. Escolha outra, por exemplo, quatro palavras aleatórias.',
    product:
      'A nova senha não pode ser o nome deste produto, com ou sem números. Escolha outra, por exemplo, quatro palavras aleatórias.',
    common:
      'A nova senha é uma das mais comuns. Escolha outra, por exemplo, quatro palavras aleatórias.',
    pattern:
      'A nova senha é uma sequência ou repetição. Escolha outra, por exemplo, quatro palavras aleatórias.',
    same: 'A nova senha é a que você já usa.',
    differs: 'As duas novas senhas não são iguais.',
  },
  accountNotices: {
    revoked: 'O acesso foi removido.',
    session: 'A sessão foi encerrada.',
    profile: 'Seu perfil foi salvo.',
    email: 'Seu endereço de e-mail foi salvo.',
    verify: 'Você receberá um e-mail em breve. Verifique o endereço pelo link do e-mail.',
    password: 'Sua senha foi alterada. Todas as outras sessões foram encerradas.',
    factorsRemoved: 'A verificação em duas etapas está desativada.',
    passkeyAdded: 'A chave de acesso foi adicionada.',
    connected: 'A conta foi vinculada.',
    disconnected: 'A conta foi desvinculada.',
  },
  // Account: browsers, profile, own data
  browsersTitle: 'Navegadores',
  browserOn: '{browser} no {system}',
  browserUnknown: 'Navegador desconhecido',
  browserCurrent: 'Este navegador',
  browserSince: 'Sessão iniciada em {day}',
  browserUsed: 'Último uso: {day}',
  browserUsedFrom: 'Último uso: {day}, a partir de {address}',
  browsersMore: 'E mais {count}. Para encerrar também essas sessões, saia de todos os lugares.',
  endSession: 'Encerrar esta sessão',
  endSessionLabel: 'Encerrar esta sessão: {browser}',
  profileTitle: 'Perfil',
  profileEdit: 'Editar perfil',
  givenName: 'Primeiro nome',
  familyName: 'Sobrenome',
  profileLanguageHint: 'Para os e-mails que você recebe.',
  languageOfBrowser: 'O mesmo do navegador',
  profileProblem: 'Corrija este campo: {field}.',
  profileTooOften: 'Você alterou seu perfil muitas vezes. Aguarde uma hora.',
  emailEdit: 'Alterar e-mail',
  emailLead: 'Você poderá entrar com um novo endereço quando ele estiver verificado.',
  save: 'Salvar',
  dataTitle: 'Seus dados',
  dataLead:
    'Seu perfil, suas formas de entrar, seus navegadores e seus aplicativos em um arquivo JSON.',
  dataDownload: 'Baixar',
  removeAccount: 'Excluir conta',
  removeQuestion: 'Excluir sua conta?',
  removeLead:
    'Sua sessão será encerrada em todos os lugares, e todos os aplicativos perderão o acesso. Esta ação não pode ser desfeita.',
  removeConfirm: 'Para confirmar, digite seu nome de usuário: {username}',
  removeProblem: 'Este não é o seu nome de usuário.',
  accountRemovedTitle: 'Sua conta foi excluída',
  accountRemoved: 'Sua sessão foi encerrada em todos os lugares.',

  // New passwords, at sign-in and by a link
  mustChangeTitle: 'Escolha uma nova senha',
  mustChangeLead: 'Você precisa alterar sua senha antes de continuar.',
  setPassword: 'Definir senha',
  resetTitle: 'Escolha uma senha',
  resetLead: 'Ela substitui a antiga e encerra sua sessão em todos os lugares.',
  resetDoneTitle: 'Sua senha foi definida',
  resetDone: 'Agora você pode entrar com ela.',

  // Second factors, at sign-in and on the account page
  codeTitle: 'Digite seu código',
  codeLead: 'Abra seu aplicativo autenticador e digite o código exibido nele.',
  code: 'Código',
  codeHint: 'Sem o celular, digite um código de recuperação.',
  codeWrong: 'Este código está errado ou já foi usado. Aguarde o próximo.',
  enrollTitle: 'Configure um aplicativo autenticador',
  enrollLead:
    'Escaneie a imagem com um aplicativo autenticador no seu celular e digite o código exibido nele.',
  enrollDecline: 'Agora não',
  appQrCode: 'Código QR para o aplicativo',
  appKey: 'Sem câmera, digite esta chave no aplicativo: {key}',
  appOpen: 'Abrir o aplicativo neste dispositivo',
  appCode: 'Código do aplicativo',
  appCodeWrong:
    'Este código está errado. Verifique o relógio do seu celular e digite o próximo código.',
  recoveryTitle: 'Seus códigos de recuperação',
  recoveryLead: 'Se você perder o celular, poderá entrar uma vez com cada um destes códigos.',
  recoveryOnce: 'Imprima ou salve os códigos agora. Eles não serão exibidos novamente.',
  recoveryLeft: 'Códigos de recuperação restantes: {codes}.',
  recoveryRenew: 'Gerar novos códigos de recuperação',
  factorTitle: 'Verificação em duas etapas',
  factorLead: 'Além da sua senha, use um código do seu celular para entrar.',
  factorState: 'Ativada desde {since}. Último uso: {used}.',
  factorTurnOn: 'Ativar',
  factorManage: 'Gerenciar',
  factorTurnOff: 'Desativar',
  factorReplace: 'Usar outro aplicativo',

  // Passkeys, at sign-in and on the account page
  passkey: 'Chave de acesso',
  passkeySignIn: 'Entrar com uma chave de acesso',
  passkeyUse: 'Use sua chave de acesso',
  passkeyLead: 'Continue com a chave de acesso que você adicionou à sua conta.',
  passkeyFailed: 'A chave de acesso não foi aceita. Tente novamente ou entre de outra forma.',
  passkeyNeedsScript: 'As chaves de acesso precisam de JavaScript. Ative-o para este endereço.',
  passkeysTitle: 'Chaves de acesso',
  passkeysLead:
    'Com uma chave de acesso, você entra com sua impressão digital, seu rosto ou o bloqueio de tela em vez de uma senha.',
  passkeysCount: 'Chaves de acesso para entrar: {count}',
  passkeyAdd: 'Adicionar uma chave de acesso',
  passkeyName: 'Nome da chave de acesso',
  passkeyNewName: 'Novo nome de {name}',
  passkeyRename: 'Renomear',
  passkeyRemove: 'Remover',
  passkeyRemoveLabel: 'Remover {name}',
  passkeyState: 'Adicionada em {since}. Último uso: {used}.',
  passkeyUnused: 'nunca',
  passkeyBackedUp: 'Ela tem backup.',
  passkeyProblems: {
    wrong: 'A chave de acesso não foi adicionada. Tente novamente.',
    exists: 'Você já tem esta chave de acesso.',
    full: 'Você tem 10 chaves de acesso. Remova uma antes de adicionar outra.',
  },

  // Forgotten passwords
  forgotPassword: 'Esqueceu a senha?',
  forgotTitle: 'Esqueceu sua senha?',
  forgotLead: 'Você receberá um e-mail com um link para escolher uma nova.',
  usernameOrEmail: 'Nome de usuário ou e-mail',
  sendLink: 'Enviar link',
  mailSentTitle: 'Verifique seu e-mail',
  forgotSent:
    'Se a conta tiver um endereço de e-mail verificado, você receberá em breve um e-mail com um link. O link vale por uma hora.',
  mailSentHint: 'O e-mail não chegou depois de alguns minutos? Verifique a pasta de spam.',
  backToSignIn: 'Voltar ao login',

  // New accounts and addresses
  createAccount: 'Criar uma conta',
  createAccountTitle: 'Crie sua conta',
  registerLead:
    'Digite seu endereço de e-mail. Você receberá um e-mail com um link para continuar.',
  registerSent: 'Você receberá um e-mail em breve. Abra o link do e-mail para continuar.',
  addressInvalid: 'Isto não é um endereço de e-mail.',
  addressDomains: 'Digite um endereço que termine em {domains}.',
  createAccountLead: 'Para {email}, em {organization}.',
  createAccountButton: 'Criar conta',
  accountProblems: {
    name: 'Digite um nome.',
    username: 'Escolha um nome de usuário sem @ e sem espaços no início ou no fim.',
    taken: 'Este nome de usuário já está em uso. Escolha outro.',
  },
  accountCreatedTitle: 'Sua conta está pronta',
  accountCreated: 'Agora você pode entrar.',
  verifyTitle: 'Verifique seu endereço de e-mail',
  verifyLead: '{email} é o seu endereço?',
  confirmAddress: 'Sim, verificar',
  verifyDoneTitle: 'Seu endereço está verificado',
  verifyDone: 'Você pode entrar com ele.',

  // Mails
  mails: {
    reset: {
      subject: 'Escolha uma nova senha em {host}',
      lead: 'Alguém solicitou uma nova senha para sua conta {username} em {host}.',
      label: 'Escolher uma nova senha',
    },
    verify: {
      subject: 'Verifique seu endereço de e-mail em {host}',
      lead: 'Verifique que este endereço pertence à sua conta {username} em {host}.',
      label: 'Verificar o endereço',
    },
    register: {
      subject: 'Crie sua conta em {host}',
      lead: 'Alguém solicitou uma conta com este endereço em {host}, na organização {organization}.',
      label: 'Criar a conta',
    },
    exists: {
      subject: 'Você tem uma conta em {host}',
      lead: 'Alguém solicitou uma conta com este endereço em {host}. Você já tem uma: {username}.',
      label: 'Ir para sua conta',
    },
    changed: {
      subject: 'Alteração na sua conta em {host}',
      lead: 'Isto foi alterado na sua conta {username} em {host}: {change}.',
      label: 'Ir para sua conta',
    },
    invite: {
      subject: 'Convite para {organization}',
      lead: '{organization} convida você a criar uma conta em {host}.',
      label: 'Criar a conta',
    },
  },
  mailValidHour: 'O link só pode ser usado uma vez e vale por uma hora.',
  mailValidDay: 'O link só pode ser usado uma vez e vale por um dia.',
  mailValidWeek: 'O link só pode ser usado uma vez e vale por uma semana.',
  mailOrigin: 'A solicitação foi enviada de {address} ({agent}). Data e hora: {time}.',
  mailIgnore: 'Se você não esperava este e-mail, ignore-o. Se o link não for usado, nada muda.',
  mailNotYou: 'Se não foi você, altere sua senha agora e entre em contato com o operador.',

  backToAccount: 'Voltar à sua conta',
  everywhereQuestion: 'Sair de todos os lugares?',
  everywhereLead:
    'Encerra sua sessão em todos os navegadores, aplicativos e dispositivos de uma só vez, incluindo este navegador. Use esta opção se você perdeu um dispositivo ou se algo parece errado.',
  signOutEverywhere: 'Sair de todos os lugares',
  signedOutEverywhereTitle: 'Você saiu de todos os lugares',
  signedOutEverywhere: 'Nenhum navegador, aplicativo ou dispositivo tem mais acesso à sua conta.',

  // Errors
  errorTitles: {
    signInExpired: 'Este login expirou',
    signInStartAgain: 'Este login foi encerrado',
    signInCompleted: 'Voltar ao aplicativo',
    tooManyAttempts: 'Muitas tentativas',
    tooManyRequests: 'Muitas solicitações',
    formRefused: 'O formulário não foi aceito',
    wasSignedOut: 'Sua sessão foi encerrada',
    unavailable: 'Indisponível no momento',
    unexpected: 'Erro no servidor',
    notFound: 'Página não encontrada',
    badRequest: 'O aplicativo enviou uma solicitação inválida',
    methodNotAllowed: 'Isto não funciona aqui',
    cookiesNeeded: 'É preciso permitir cookies',
    cookiesBlocked: 'É preciso permitir cookies',
    tooManyMails: 'Muitas solicitações',
    linkInvalid: 'Este link não pode ser usado',
    upstreamFailed: 'O outro serviço não concluiu o login',
    upstreamRefused: 'Essa conta não é reconhecida aqui',
    upstreamTaken: 'A conta não foi vinculada',
  },
  tryAgain: 'Tentar novamente',
  errorReference: 'Se pedir ajuda, informe esta referência: {reference}',
  signInExpired:
    'Este login expirou ou foi iniciado em outro navegador. Volte ao aplicativo e comece novamente.',
  signInStartAgain: 'Este login não pode mais ser usado. Comece novamente.',
  signInCompleted:
    'Você já concluiu esta etapa. Continue no aplicativo. Se ele não estiver nesta janela, feche esta página.',
  startAgain: 'Começar novamente',
  formRefused:
    'Este formulário não é mais válido: ele é antigo demais ou foi aberto em outro lugar. Volte e comece novamente.',
  wasSignedOut: 'Sua sessão foi encerrada nesse meio-tempo. Para continuar, entre novamente.',
  unavailable: 'O serviço está temporariamente indisponível. Tente novamente em instantes.',
  unexpected:
    'Ocorreu um erro no servidor. Tente novamente. Se o problema persistir, entre em contato com o operador.',
  startPage: 'Ir para a página inicial',
  tooManyAttempts: 'Houve muitas tentativas de entrar. Aguarde 15 minutos e tente novamente.',
  tooManyRequests: 'Esta rede envia muitas solicitações. Aguarde um minuto e tente novamente.',
  notFound: 'Esta página não existe.',
  badRequest: 'O desenvolvedor do aplicativo precisa corrigir a solicitação.',
  methodNotAllowed: 'Esta página não pode ser usada desta forma. Volte e comece novamente.',
  tooManyMails: 'Houve muitas solicitações. Aguarde 15 minutos e tente novamente.',
  linkInvalid: 'Este link expirou ou já foi usado. Solicite um novo.',
  upstreamFailed: 'Tente novamente ou entre de outra forma.',
  upstreamRefused:
    'Não é possível entrar aqui com essa conta. Entre de outra forma. Depois, você poderá vinculá-la na página da sua conta.',
  upstreamTaken: 'Não é possível vincular essa conta. Talvez outra pessoa já entre aqui com ela.',
  upstreamBack: 'Entrar de outra forma',
  cookiesNeeded:
    'Você não entrou na conta. Talvez seu navegador bloqueie cookies. Permita-os para este endereço e tente novamente.',
  cookiesBlocked:
    'Seu navegador não enviou cookies. Talvez ele os bloqueie, ou esta página foi aberta em outro navegador. Permita cookies para este endereço, volte ao aplicativo e comece novamente.',

  /** What each scope lets an application do, as the end of "this application will be able to". */
  scopes: {
    'device:read': 'Ver seus dispositivos e os detalhes deles',
    'device:write': 'Adicionar dispositivos e alterá-los',
    'device:log': 'Ler os registros dos seus dispositivos',
    'device:report': 'Enviar dados em nome dos seus dispositivos',
    openid: 'Confirmar quem você é',
    profile: 'Ver seu nome e seu nome de usuário',
    email: 'Ver seu endereço de e-mail',
    groups: 'Ver sua organização e suas funções',
    offline_access: 'Manter este acesso quando você não estiver com a sessão aberta',
  },
};
