import type { Texts } from './texts-en.ts';

export const japanese: Texts = {
  language: 'ja',

  // Every page
  languageName: '日本語',
  languageMenu: '言語',
  help: 'ヘルプ',
  privacy: 'プライバシー',
  terms: '規約',
  helpContact: 'お困りの場合は、{contact} までお問い合わせください。',
  showPassword: 'パスワードを表示',

  // Sign-in and consent
  signInLead: '{client} に進む',
  signInLeadAccount: 'アカウントの確認と管理',
  username: 'ユーザー名',
  password: 'パスワード',
  signIn: 'ログイン',
  rememberMe: 'このブラウザでログイン状態を保持する',
  signInFailed: 'ユーザー名またはパスワードが正しくありません。確認してもう一度お試しください。',
  signInFailedWait: '何度か間違えた場合は、15 分お待ちください。',
  consentTitle: '{client} がアクセス権を求めています',
  consentLead: '許可すると、このアプリは次のことができるようになります。',
  signedInAs: '{name} としてログイン中',
  useAnotherAccount: '別のアカウントを使用',
  keepAccount: '{name} として続行',
  organization: '組織',
  consentDestination: '移動先',
  consentToDevice: 'お使いのデバイス',
  consentApplicationId: 'アプリ ID',
  applicationId: 'アプリ ID: {clientId}',
  consentSite: 'アクセス権を与える相手',
  consentUnknownSite:
    'このサーバーの運営者は、このウェブサイトを把握していません。ご自身で開始した操作であり、このウェブサイトを信頼できる場合にのみ、アクセスを許可してください。',
  endAnyTime: 'このアクセス権は、アカウントページでいつでも取り消せます。',
  allow: '許可',
  deny: '拒否',
  chooseAccountTitle: 'アカウントの選択',
  returningTitle: 'アプリに戻ります',
  welcomeTitle: '1 つのアカウントですべてのデバイスに',
  welcomeLead:
    'ログインすると、プロフィールと、アカウントへのアクセス権を持つアプリを確認できます。',
  openAccount: 'アカウントに移動',
  connectDevice: 'デバイスを接続',
  signInLinkNeedsScript:
    'アプリからログインのためにここへ移動しましたか？そのリンクには JavaScript が必要です。このアドレスで JavaScript を有効にしてから、もう一度リンクを開いてください。',

  // Devices
  deviceLead: 'デバイスに表示されているコードを入力してください。',
  deviceLeadPrefilled:
    'このコードをデバイスのコードと見比べてください。一致する場合にのみ続行してください。',
  userCode: 'コード',
  userCodeHint: '英字 8 文字（例: BCDF-GHJK）',
  continue: '続行',
  deviceConfirmTitle: 'これはお使いのデバイスですか？',
  deviceConfirmLead: 'デバイスに、これとまったく同じコードが表示されている必要があります。',
  deviceGets:
    'このコードが表示されているデバイスで、{client} があなたのアカウントへのアクセス権を取得します。許可する内容は次のとおりです。',
  deviceAsks:
    'このコードが表示されているデバイスで、{client} があなたのアカウントへのアクセス権を求めています。アクセスを許可するかどうかは、次のページ以降で決められます。',
  deviceWarning:
    'このコードやこのページへのリンクを誰かから受け取った場合は、ここで中止してください。あなたが許可したアクセス権は、そのデバイスを持っている人に渡ります。',
  deviceConfirm: 'はい、一致しています',
  deviceCancel: 'いいえ、キャンセル',
  deviceDoneTitle: 'デバイスが接続されました',
  deviceDone: '{client} は数秒後に続行します。このページは閉じてかまいません。',
  deviceStoppedTitle: '何も接続されませんでした',
  deviceStopped: 'デバイスにアクセス権はありません。デバイスには、拒否されたことが表示されます。',
  deviceAnother: '別のコードを入力',
  deviceNotFound: 'このコードは存在しません。デバイスのコードと見比べてください。',
  deviceExpired:
    'このコードは有効期限が切れています。デバイスで新しいコードを取得して入力してください。',
  deviceUsed:
    'このコードはすでに使用されています。デバイスで新しいコードを取得して入力してください。',
  deviceStale:
    'このページが長時間開かれていたか、2 つのタブで開かれていました。コードをもう一度入力してください。',
  deviceCookiesBlocked:
    'ブラウザから Cookie が送信されませんでした。ブロックされている可能性があります。このアドレスで Cookie を許可してから、コードをもう一度入力してください。',
  deviceRefused:
    'このデバイスは接続できません。デバイスで新しいコードを取得するか、製造元にお問い合わせください。',
  deviceTooMany: '間違ったコードの入力が多すぎます。{time}待ってから、もう一度お試しください。',
  deviceSignInFirst:
    'ここで間違ったコードが何度も入力されました。先にログインしてからコードを入力するか、{time}お待ちください。',

  // Sign-in with an upstream provider
  upstreamContinue: '{provider} で続行',
  upstreamsTitle: 'ログインに使えるほかのアカウント',
  upstreamConnected: '連携済み',
  upstreamConnect: '{provider} と連携',
  upstreamDisconnect: '{provider} との連携を解除',
  upstreamOnlyWay: 'これが唯一のログイン方法のため、連携を解除できません。',

  // Sign-out of this browser
  logoutTitle: 'ログアウトしますか？',
  logoutLead: '{name} としてログインしています。',
  logoutEnds: 'ログアウトすると、このブラウザのセッションと、次のアプリのアクセス権が終了します。',
  logoutEndsNothing: 'ログアウトすると、このブラウザのセッションが終了します。',
  logoutKeepsDevices:
    'コードで接続したデバイスは接続されたままです。デバイスのアクセス権は、アカウントページで取り消せます。',
  logoutKeepsUpstreams: 'ここでログアウトしても、{providers} からはログアウトされません。',
  signOut: 'ログアウト',
  staySignedIn: 'ログインしたままにする',
  signedOutTitle: 'ログアウトしました',
  signedOut: '共有のパソコンでは、ブラウザも閉じてください。',
  signInAgain: 'もう一度ログイン',

  // Account
  accountTitle: 'あなたのアカウント',
  accountName: '名前',
  accountEmail: 'メールアドレス',
  accountEmailUnverified: '未確認',
  accountRoles: 'ロール',
  accountId: 'アカウント ID',
  applicationsTitle: 'アクセス権を持つアプリ',
  applicationsNone: 'アカウントへのアクセス権を持つアプリはありません。',
  applicationSince: '{day}から',
  applicationGone: 'このアプリは、現在ここに登録されていません。',
  revoke: 'アクセス権を取り消す',
  revokeLabel: '{client} のアクセス権を取り消す',
  passwordLead:
    '変更すると、ほかのブラウザ、すべてのアプリ、すべてのデバイスからログアウトされます。',
  changePassword: 'パスワードを変更',
  currentPassword: '現在のパスワード',
  newPassword: '新しいパスワード',
  newPasswordHint: '8 文字以上。いくつかの単語を並べると覚えやすくなります。',
  repeatPassword: '新しいパスワード（確認）',
  passwordProblems: {
    wrong: '現在のパスワードが正しくありません。',
    short: '新しいパスワードが短すぎます。8 文字以上にしてください。',
    long: '新しいパスワードが長すぎます。',
    username:
      '新しいパスワードにユーザー名は使用できません。数字を付けても同じです。無作為に選んだ 4 つの単語など、別のものにしてください。',
    product:
      '新しいパスワードにこの製品の名前は使用できません。数字を付けても同じです。無作為に選んだ 4 つの単語など、別のものにしてください。',
    common:
      '新しいパスワードは、特によく使われるパスワードの 1 つです。無作為に選んだ 4 つの単語など、別のものにしてください。',
    pattern:
      '新しいパスワードが、連続または繰り返しの文字になっています。無作為に選んだ 4 つの単語など、別のものにしてください。',
    same: '新しいパスワードが現在のパスワードと同じです。',
    differs: '2 つの新しいパスワードが一致しません。',
  },
  accountNotices: {
    revoked: 'アクセス権を取り消しました。',
    session: 'セッションを終了しました。',
    profile: 'プロフィールを保存しました。',
    email: 'メールアドレスを保存しました。',
    verify: 'まもなくメールが届きます。メール内のリンクでアドレスを確認してください。',
    password: 'パスワードを変更しました。ほかはすべてログアウトされました。',
    factorsRemoved: '2 段階認証はオフです。',
    passkeyAdded: 'パスキーを追加しました。',
    connected: 'アカウントを連携しました。',
    disconnected: 'アカウントの連携を解除しました。',
  },
  // Account: browsers, profile, own data
  browsersTitle: 'ブラウザ',
  browserOn: '{system} の {browser}',
  browserUnknown: '不明なブラウザ',
  browserCurrent: 'このブラウザ',
  browserSince: 'ログイン: {day}',
  browserUsed: '最終使用: {day}',
  browserUsedFrom: '最終使用: {day}（{address} から）',
  browsersMore:
    'ほかに {count} 件あります。それらも終了するには、すべての場所でログアウトしてください。',
  endSession: 'このセッションを終了',
  endSessionLabel: 'このセッションを終了: {browser}',
  profileTitle: 'プロフィール',
  profileEdit: 'プロフィールを編集',
  givenName: '名',
  familyName: '姓',
  profileLanguageHint: 'お送りするメールに使用します。',
  languageOfBrowser: 'ブラウザと同じ',
  profileProblem: '次の項目を修正してください: {field}',
  profileTooOften: 'プロフィールの変更回数が多すぎます。1 時間お待ちください。',
  emailEdit: 'メールアドレスを変更',
  emailLead: '新しいアドレスは、確認が完了するとログインに使用できます。',
  save: '保存',
  dataTitle: 'あなたのデータ',
  dataLead: 'プロフィール、ログイン方法、ブラウザ、アプリの JSON ファイルです。',
  dataDownload: 'ダウンロード',
  removeAccount: 'アカウントを削除',
  removeQuestion: 'アカウントを削除しますか？',
  removeLead:
    'すべての場所でログアウトされ、すべてのアプリがアクセス権を失います。この操作は取り消せません。',
  removeConfirm: '確認のため、ユーザー名を入力してください: {username}',
  removeProblem: 'ユーザー名が正しくありません。',
  accountRemovedTitle: 'アカウントが削除されました',
  accountRemoved: 'すべての場所でログアウトしました。',

  // New passwords, at sign-in and by a link
  mustChangeTitle: '新しいパスワードの設定',
  mustChangeLead: '続行するには、パスワードを変更する必要があります。',
  setPassword: 'パスワードを設定',
  resetTitle: 'パスワードの設定',
  resetLead: '古いパスワードと置き換わり、すべての場所でログアウトされます。',
  resetDoneTitle: 'パスワードが設定されました',
  resetDone: '新しいパスワードでログインできます。',

  // Second factors, at sign-in and on the account page
  codeTitle: '確認コードの入力',
  codeLead: '認証アプリを開き、表示されている確認コードを入力してください。',
  code: '確認コード',
  codeHint: 'スマートフォンが手元にない場合は、復旧コードを入力してください。',
  codeWrong:
    '確認コードが間違っているか、すでに使用されています。次のコードが表示されるまでお待ちください。',
  enrollTitle: '認証アプリの設定',
  enrollLead:
    'スマートフォンの認証アプリで画像をスキャンし、表示された確認コードを入力してください。',
  enrollDecline: '後で',
  appQrCode: '認証アプリ用の QR コード',
  appKey: 'カメラがない場合は、認証アプリに次のキーを入力してください: {key}',
  appOpen: 'このデバイスで認証アプリを開く',
  appCode: '認証アプリの確認コード',
  appCodeWrong:
    '確認コードが間違っています。スマートフォンの時刻を確認し、次のコードを入力してください。',
  recoveryTitle: '復旧コード',
  recoveryLead: 'スマートフォンを紛失した場合は、各コードで 1 回ずつログインできます。',
  recoveryOnce: '今すぐ印刷または保存してください。再び表示されることはありません。',
  recoveryLeft: '残りの復旧コード: {codes}。',
  recoveryRenew: '新しい復旧コードを取得',
  factorTitle: '2 段階認証',
  factorLead: 'パスワードに加えて、スマートフォンの確認コードでログインします。',
  factorState: '有効化: {since}。最終使用: {used}。',
  factorTurnOn: 'オンにする',
  factorManage: '管理',
  factorTurnOff: 'オフにする',
  factorReplace: '別の認証アプリを使用',

  // Passkeys, at sign-in and on the account page
  passkey: 'パスキー',
  passkeySignIn: 'パスキーでログイン',
  passkeyUse: 'パスキーを使用',
  passkeyLead: 'アカウントに追加したパスキーで続行してください。',
  passkeyFailed:
    'パスキーが受け付けられませんでした。もう一度試すか、別の方法でログインしてください。',
  passkeyNeedsScript:
    'パスキーには JavaScript が必要です。このアドレスで JavaScript を有効にしてください。',
  passkeysTitle: 'パスキー',
  passkeysLead: 'パスキーを使うと、パスワードの代わりに指紋、顔、画面ロックでログインできます。',
  passkeysCount: 'ログインに使えるパスキー: {count}',
  passkeyAdd: 'パスキーを追加',
  passkeyName: 'パスキーの名前',
  passkeyNewName: '{name} の新しい名前',
  passkeyRename: '名前を変更',
  passkeyRemove: '削除',
  passkeyRemoveLabel: '{name} を削除',
  passkeyState: '追加: {since}。最終使用: {used}。',
  passkeyUnused: '未使用',
  passkeyBackedUp: 'バックアップがあります。',
  passkeyProblems: {
    wrong: 'パスキーは追加されませんでした。もう一度お試しください。',
    exists: 'このパスキーはすでに追加されています。',
    full: 'パスキーが 10 個あります。追加する前に 1 つ削除してください。',
  },

  // Forgotten passwords
  forgotPassword: 'パスワードをお忘れですか？',
  forgotTitle: 'パスワードをお忘れですか？',
  forgotLead: '新しいパスワードを設定するためのリンクをメールでお送りします。',
  usernameOrEmail: 'ユーザー名またはメールアドレス',
  sendLink: 'リンクを送信',
  mailSentTitle: 'メールをご確認ください',
  forgotSent:
    'アカウントに確認済みのメールアドレスがある場合は、まもなくリンクを記載したメールが届きます。リンクの有効期間は 1 時間です。',
  mailSentHint: '数分経ってもメールが届かない場合は、迷惑メールフォルダをご確認ください。',
  backToSignIn: 'ログインに戻る',

  // New accounts and addresses
  createAccount: 'アカウントを作成',
  createAccountTitle: 'アカウントの作成',
  registerLead:
    'メールアドレスを入力してください。手続きを続けるためのリンクをメールでお送りします。',
  registerSent: 'まもなくメールが届きます。メール内のリンクから手続きを続けてください。',
  addressInvalid: 'メールアドレスの形式が正しくありません。',
  addressDomains: '{domains} で終わるアドレスを入力してください。',
  createAccountLead: '{email}（組織: {organization}）',
  createAccountButton: 'アカウントを作成',
  accountProblems: {
    name: '名前を入力してください。',
    username: '@ を含まず、先頭と末尾に空白のないユーザー名にしてください。',
    taken: 'このユーザー名はすでに使用されています。別のユーザー名にしてください。',
  },
  accountCreatedTitle: 'アカウントの準備ができました',
  accountCreated: 'ログインできるようになりました。',
  verifyTitle: 'メールアドレスの確認',
  verifyLead: '{email} はあなたのアドレスですか？',
  confirmAddress: 'はい、確認します',
  verifyDoneTitle: 'アドレスが確認されました',
  verifyDone: 'このアドレスでログインできます。',

  // Mails
  mails: {
    reset: {
      subject: '{host} の新しいパスワードの設定',
      lead: '{host} のあなたのアカウント {username} について、新しいパスワードの設定が要求されました。',
      label: '新しいパスワードを設定',
    },
    verify: {
      subject: '{host} のメールアドレスの確認',
      lead: 'このアドレスが {host} のあなたのアカウント {username} のものであることを確認してください。',
      label: 'アドレスを確認',
    },
    register: {
      subject: '{host} のアカウントの作成',
      lead: 'このアドレスで、{host} の組織 {organization} にアカウントを作成することが要求されました。',
      label: 'アカウントを作成',
    },
    exists: {
      subject: '{host} のアカウントをすでにお持ちです',
      lead: 'このアドレスで {host} のアカウントを作成することが要求されましたが、すでにアカウントをお持ちです: {username}',
      label: 'アカウントに移動',
    },
    changed: {
      subject: '{host} のアカウントが変更されました',
      lead: '{host} のアカウント {username} で次の項目が変更されました: {change}',
      label: 'アカウントに移動',
    },
    invite: {
      subject: '{organization} への招待',
      lead: '{organization} から、{host} でアカウントを作成するよう招待されています。',
      label: 'アカウントを作成',
    },
  },
  mailValidHour: 'このリンクは 1 回限り、1 時間有効です。',
  mailValidDay: 'このリンクは 1 回限り、1 日間有効です。',
  mailValidWeek: 'このリンクは 1 回限り、1 週間有効です。',
  mailOrigin: 'この要求は {time} に {address}（{agent}）から送信されました。',
  mailIgnore:
    'このメールに心当たりがない場合は、無視してください。リンクを使用しない限り、何も変更されません。',
  mailNotYou: 'お心当たりがない場合は、すぐにパスワードを変更し、運営者に連絡してください。',

  backToAccount: 'アカウントに戻る',
  everywhereQuestion: 'すべての場所でログアウトしますか？',
  everywhereLead:
    'このブラウザを含む、すべてのブラウザ、アプリ、デバイスから一度にログアウトします。デバイスを紛失した場合や、不審な点がある場合に使用してください。',
  signOutEverywhere: 'すべての場所でログアウト',
  signedOutEverywhereTitle: 'すべての場所でログアウトしました',
  signedOutEverywhere: 'アカウントへのアクセス権を持つブラウザ、アプリ、デバイスはもうありません。',

  // Errors
  errorTitles: {
    signInExpired: 'このログインは有効期限が切れています',
    signInStartAgain: 'このログインは終了しました',
    signInCompleted: 'アプリに戻ってください',
    tooManyAttempts: '試行回数が多すぎます',
    tooManyRequests: 'リクエストが多すぎます',
    formRefused: 'フォームが受け付けられませんでした',
    wasSignedOut: 'ログアウトされました',
    unavailable: '現在ご利用いただけません',
    unexpected: 'サーバーエラー',
    notFound: 'ページが見つかりません',
    badRequest: 'アプリが無効なリクエストを送信しました',
    methodNotAllowed: 'ここではこの操作を行えません',
    cookiesNeeded: 'Cookie が必要です',
    cookiesBlocked: 'Cookie が必要です',
    tooManyMails: 'リクエストが多すぎます',
    linkInvalid: 'このリンクは使用できません',
    upstreamFailed: '外部サービスでログインできませんでした',
    upstreamRefused: 'そのアカウントはここでは登録されていません',
    upstreamTaken: 'アカウントは連携されませんでした',
  },
  tryAgain: '再試行',
  errorReference: 'お問い合わせの際は、この参照番号をお伝えください: {reference}',
  signInExpired:
    'このログインは有効期限が切れているか、別のブラウザで開始されました。アプリに戻ってやり直してください。',
  signInStartAgain: 'このログインはもう使用できません。最初からやり直してください。',
  signInCompleted:
    'この手順はすでに完了しています。アプリで続行してください。アプリがこのウィンドウにない場合は、このページを閉じてください。',
  startAgain: '最初からやり直す',
  formRefused:
    'このフォームは無効になりました。古くなったか、別の場所で開かれたものです。戻ってやり直してください。',
  wasSignedOut: 'その間にログアウトされました。続行するには、もう一度ログインしてください。',
  unavailable: 'サービスは一時的にご利用いただけません。しばらくしてからもう一度お試しください。',
  unexpected:
    'サーバーで問題が発生しました。もう一度お試しください。問題が解決しない場合は、運営者にお問い合わせください。',
  startPage: 'トップページに移動',
  tooManyAttempts: 'ログインの試行回数が多すぎます。15 分待ってから、もう一度お試しください。',
  tooManyRequests:
    'このネットワークからのリクエストが多すぎます。1 分待ってから、もう一度お試しください。',
  notFound: 'このページは存在しません。',
  badRequest: 'アプリの開発者が修正する必要があります。',
  methodNotAllowed: 'このページはこの方法では使用できません。戻ってやり直してください。',
  tooManyMails: 'リクエストが多すぎます。15 分待ってから、もう一度お試しください。',
  linkInvalid:
    'このリンクは有効期限が切れているか、すでに使用されています。新しいリンクを取得してください。',
  upstreamFailed: 'もう一度試すか、別の方法でログインしてください。',
  upstreamRefused:
    'そのアカウントではここにログインできません。別の方法でログインしてください。その後、アカウントページで連携できます。',
  upstreamTaken:
    'そのアカウントは連携できません。すでにほかの人がここへのログインに使用している可能性があります。',
  upstreamBack: '別の方法でログイン',
  cookiesNeeded:
    'ログインしていません。ブラウザが Cookie をブロックしている可能性があります。このアドレスで Cookie を許可して、もう一度お試しください。',
  cookiesBlocked:
    'ブラウザから Cookie が送信されませんでした。ブロックされているか、このページが別のブラウザで開かれた可能性があります。このアドレスで Cookie を許可してから、アプリに戻ってやり直してください。',

  scopes: {
    'device:read': 'デバイスとその詳細を表示する',
    'device:write': 'デバイスを追加、変更する',
    'device:log': 'デバイスのログを読み取る',
    'device:report': 'デバイスのデータを報告する',
    openid: 'あなたが本人であることを確認する',
    profile: 'あなたの名前とユーザー名を表示する',
    email: 'あなたのメールアドレスを表示する',
    groups: 'あなたの組織とロールを表示する',
    offline_access: 'あなたがログインしていないときもこのアクセス権を保持する',
  },
};
