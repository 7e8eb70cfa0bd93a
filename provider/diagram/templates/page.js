'use strict';
const picture = document.getElementById('picture');
const all = picture.viewBox.baseVal;
const whole = { x: 0, y: 0, w: all.width, h: all.height };
let view = { ...whole };

const show = () => picture.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Zooms around a point of the picture, so that what is under the pointer stays there.
const zoom = (factor, at) => {
  const w = clamp(view.w * factor, whole.w / 60, whole.w * 2);
  const scale = w / view.w;
  const point = at || { x: view.x + view.w / 2, y: view.y + view.h / 2 };
  view = {
    x: point.x - (point.x - view.x) * scale,
    y: point.y - (point.y - view.y) * scale,
    w,
    h: view.h * scale,
  };
  show();
};
const fit = () => { view = { ...whole }; show(); };
const place = (event) => {
  const matrix = picture.getScreenCTM().inverse();
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
};

picture.addEventListener('wheel', (event) => {
  event.preventDefault();
  zoom(Math.exp(clamp(event.deltaY, -60, 60) / 200), place(event));
}, { passive: false });

// On a narrow screen, the whole picture would be too small to read: it starts at its own size, at the top left.
if (picture.clientWidth < 600 && whole.w > picture.clientWidth) {
  view = { x: 0, y: 0, w: picture.clientWidth, h: picture.clientHeight };
  show();
}

// Two fingers zoom around the point between them.
const fingers = new Map();
const spread = () => {
  const [a, b] = [...fingers.values()];
  return { wide: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 };
};
const pinch = (event) => {
  const before = spread();
  fingers.set(event.pointerId, event);
  const now = spread();
  if (before.wide > 0 && now.wide > 0) zoom(before.wide / now.wide, place(now));
};

let drag = null;
let moved = false;
picture.addEventListener('pointerdown', (event) => {
  fingers.set(event.pointerId, event);
  drag = place(event);
  moved = false;
});
window.addEventListener('pointermove', (event) => {
  if (fingers.size === 2 && fingers.has(event.pointerId)) {
    moved = true;
    pinch(event);
    drag = null;
    return;
  }
  if (!drag) return;
  const now = place(event);
  if (Math.hypot(now.x - drag.x, now.y - drag.y) * picture.clientWidth / view.w > 4) moved = true;
  if (!moved) return;
  picture.classList.add('drag');
  view.x -= now.x - drag.x;
  view.y -= now.y - drag.y;
  show();
});
const release = (event) => {
  fingers.delete(event.pointerId);
  drag = null;
  picture.classList.remove('drag');
};
window.addEventListener('pointerup', release);
window.addEventListener('pointercancel', release);

// Folding hides what is in a network and leaves its head, at which its links begin.
const networks = [...picture.querySelectorAll('.is-network')];
for (const network of networks) {
  const box = network.querySelector(':scope > .box');
  network.dataset.tall = box.getAttribute('height');
  network.setAttribute('tabindex', '0');
  network.setAttribute('role', 'button');
  if (network.querySelector(':scope > .inside')) network.setAttribute('aria-expanded', 'true');
}
const fold = (network, folded) => {
  if (!network.querySelector(':scope > .inside')) return;
  const box = network.querySelector(':scope > .box');
  network.classList.toggle('folded', folded);
  network.setAttribute('aria-expanded', String(!folded));
  box.setAttribute('height', folded ? 54 + 16 * network.querySelectorAll(':scope > text.alert').length : network.dataset.tall);
};
picture.addEventListener('click', (event) => {
  const network = event.target.closest('.is-network');
  if (network && !moved) fold(network, !network.classList.contains('folded'));
});
const foldAll = () => {
  const folded = networks.some((network) => !network.classList.contains('folded') && network.hasAttribute('aria-expanded'));
  networks.forEach((network) => fold(network, folded));
  document.getElementById('fold').textContent = folded ? 'Unfold' : 'Fold';
};

// Pointing at a box shows its links.
const links = [...picture.querySelectorAll('.link')];
const marked = [...picture.querySelectorAll('.item[data-key]')];
const follow = (item) => {
  const keys = new Set();
  for (let at = item; at && at !== picture; at = at.parentElement) if (at.dataset && at.dataset.key) keys.add(at.dataset.key);
  let any = false;
  for (const link of links) {
    const hot = keys.has(link.dataset.from) || keys.has(link.dataset.to);
    link.classList.toggle('hot', hot);
    any ||= hot;
  }
  picture.classList.toggle('following', any);
  // A finding shows the objects that it is about.
  const refs = item && item.dataset.refs ? item.dataset.refs.split('\n') : [];
  for (const other of marked) other.classList.toggle('about', refs.includes(other.dataset.key));
};
picture.addEventListener('pointerover', (event) => follow(event.target.closest('.item')));
picture.addEventListener('focusin', (event) => follow(event.target.closest('.item')));
picture.addEventListener('pointerleave', () => follow(null));

// Search looks at names, addresses and everything that hovering tells; Enter goes to the next hit.
const find = document.getElementById('find');
const hits = document.getElementById('hits');
let found = [];
let at = -1;
const items = [...picture.querySelectorAll('.item')].map((item) => {
  const own = [...item.children].filter((child) => child.tagName === 'text' || child.tagName === 'title');
  return { item, text: `${item.dataset.key || ''} ${own.map((child) => child.textContent).join(' ')}`.toLowerCase() };
});
const look = () => {
  const wanted = find.value.trim().toLowerCase();
  found = [];
  at = -1;
  for (const { item, text } of items) {
    const hit = wanted !== '' && text.includes(wanted);
    item.classList.toggle('hit', hit);
    if (hit) found.push(item);
  }
  picture.classList.toggle('finding', wanted !== '');
  hits.textContent = wanted === '' ? '' : `${found.length} found`;
};
const goTo = (step) => {
  if (found.length === 0) return;
  at = (at + step + found.length) % found.length;
  for (let up = found[at]; up && up !== picture; up = up.parentElement) if (up.classList.contains('folded')) fold(up, false);
  const box = found[at].getBBox();
  const w = Math.max(box.width * 3, 700);
  view = { w, h: w * whole.h / whole.w, x: box.x + box.width / 2 - w / 2, y: 0 };
  view.y = box.y + box.height / 2 - view.h / 2;
  show();
  hits.textContent = `${at + 1} of ${found.length}`;
};
find.addEventListener('input', look);
find.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') goTo(event.shiftKey ? -1 : 1);
  if (event.key === 'Escape') { find.value = ''; look(); find.blur(); }
});

const theme = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme === 'dark'
    || (root.dataset.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'light' : 'dark';
};
document.getElementById('in').addEventListener('click', () => zoom(0.8));
document.getElementById('out').addEventListener('click', () => zoom(1.25));
document.getElementById('fit').addEventListener('click', fit);
document.getElementById('fold').addEventListener('click', foldAll);
document.getElementById('theme').addEventListener('click', theme);
window.addEventListener('keydown', (event) => {
  if (event.target === find || event.ctrlKey || event.metaKey || event.altKey) return;
  const pan = view.w / 12;
  const keys = {
    '+': () => zoom(0.8), '=': () => zoom(0.8), '-': () => zoom(1.25), '0': fit, f: foldAll, d: theme,
    '/': () => find.focus(),
    ArrowLeft: () => { view.x -= pan; show(); }, ArrowRight: () => { view.x += pan; show(); },
    ArrowUp: () => { view.y -= pan; show(); }, ArrowDown: () => { view.y += pan; show(); },
  };
  const network = document.activeElement && document.activeElement.closest('.is-network');
  if ((event.key === 'Enter' || event.key === ' ') && network) {
    event.preventDefault();
    fold(network, !network.classList.contains('folded'));
  } else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
