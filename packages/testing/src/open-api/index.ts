export {
  createReplyValidator,
  type DescribedApi,
  type ReplyValidator,
  type SeenReply,
} from './reply-validator.ts';
