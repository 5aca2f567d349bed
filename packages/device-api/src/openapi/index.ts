export type { DescribedDocument } from './describe-public-document.ts';
export {
  type DescribedOperation,
  type DescribedRoute,
  issueAccessToken,
} from './described-route.ts';
export {
  createOpenApiDocument,
  type OpenApiDocument,
  type OpenApiSettings,
} from './open-api-document.ts';
