/** What the scopes of the API of the console allow, in the languages of the pages. */
export const operatorTexts = {
  'operator:read': {
    en: 'See all users, applications, settings and logs of this installation',
    zh: '查看此系统的所有用户、应用、设置和日志',
    'zh-TW': '查看此系統的所有使用者、應用程式、設定和記錄',
    ja: 'このシステムのすべてのユーザー、アプリケーション、設定、ログを表示する',
    ko: '이 시스템의 모든 사용자, 애플리케이션, 설정 및 로그 보기',
    de: 'Alle Benutzer, Anwendungen, Einstellungen und Protokolle dieser Installation sehen',
    fr: 'Voir tous les utilisateurs, applications, paramètres et journaux de cette installation',
    es: 'Ver todos los usuarios, aplicaciones, ajustes y registros de esta instalación',
    pt: 'Ver todos os usuários, aplicativos, configurações e registros desta instalação',
  },
  'operator:write': {
    en: 'Change users, applications, keys and settings of this installation, and end access',
    zh: '更改此系统的用户、应用、密钥和设置，以及终止访问权限',
    'zh-TW': '變更此系統的使用者、應用程式、金鑰和設定，以及終止存取權',
    ja: 'このシステムのユーザー、アプリケーション、キー、設定を変更し、アクセス権を終了する',
    ko: '이 시스템의 사용자, 애플리케이션, 키 및 설정 변경, 액세스 권한 종료',
    de: 'Benutzer, Anwendungen, Schlüssel und Einstellungen dieser Installation ändern und Zugriffe beenden',
    fr: 'Modifier les utilisateurs, applications, clés et paramètres de cette installation, et mettre fin aux accès',
    es: 'Modificar usuarios, aplicaciones, claves y ajustes de esta instalación, y finalizar accesos',
    pt: 'Alterar usuários, aplicativos, chaves e configurações desta instalação e encerrar acessos',
  },
} as const;
