// Live regions, buttons that copy, and the values of plots. Every page works without it.

/** Loads the page again and replaces its live regions. The reply of an ended session has none. */
function refresh(regions) {
  const request = new XMLHttpRequest();
  request.open('GET', location.href);
  request.responseType = 'document';
  request.timeout = 10_000;
  request.onloadend = () => {
    const fresh = request.status === 200 ? request.response : null;
    if (request.status === 401 || request.status === 403 || request.status === 404) {
      document.getElementById('live-stopped').hidden = false;
      return;
    }
    for (const { id } of regions) {
      const current = document.getElementById(id);
      const next = fresh?.getElementById(id);
      // A person who selects or tabs through the region keeps it.
      if (next && !current.contains(document.activeElement) && !isSelected(current)) {
        current.replaceWith(document.adoptNode(next));
        prepare(next);
      }
    }
    schedule();
  };
  request.send();
}

const isSelected = (element) => {
  const selection = getSelection();
  return selection.type === 'Range' && selection.containsNode(element, true);
};

function schedule() {
  const regions = [...document.querySelectorAll('[data-live]')];
  if (regions.length === 0) {
    return;
  }
  const seconds = Math.min(...regions.map((region) => Number(region.dataset.live)));
  setTimeout(() => {
    if (document.hidden) {
      document.addEventListener('visibilitychange', () => refresh(regions), { once: true });
    } else {
      refresh(regions);
    }
  }, seconds * 1000);
}

function copyText(button) {
  const label = button.textContent;
  navigator.clipboard.writeText(button.previousElementSibling.textContent).then(() => {
    button.textContent = button.dataset.copied;
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}

/** The title of a point, in a box that follows the pointer. Without script, browsers show it. */
function showValues(plot) {
  const box = document.createElement('div');
  box.className = 'values';
  box.hidden = true;
  plot.append(box);
  for (const point of plot.querySelectorAll('.point')) {
    const title = point.querySelector('title');
    const text = title.textContent;
    title.remove();
    point.addEventListener('pointerenter', () => {
      box.textContent = text;
      box.hidden = false;
      const { left, width } = plot.getBoundingClientRect();
      const middle = point.getBoundingClientRect().left - left;
      box.style.left = `${Math.min(middle + 12, width - box.offsetWidth)}px`;
    });
    point.addEventListener('pointerleave', () => {
      box.hidden = true;
    });
  }
}

function prepare(root) {
  for (const button of root.querySelectorAll('[data-copied]')) {
    button.hidden = navigator.clipboard === undefined;
    button.addEventListener('click', () => copyText(button));
  }
  for (const plot of root.querySelectorAll('.plot')) {
    showValues(plot);
  }
}

/** The server says when there is something new. It ends the stream with the session. */
function follow(region) {
  const source = new EventSource(region.dataset.events);
  source.onmessage = () => refresh([region]);
  source.onerror = () => {
    document.getElementById('live-stopped').hidden = source.readyState !== EventSource.CLOSED;
  };
}

prepare(document);
schedule();
for (const region of document.querySelectorAll('[data-events]')) {
  follow(region);
}
