// The page of response_mode=form_post has one form, with nothing to fill in.
document.forms[0].submit();
