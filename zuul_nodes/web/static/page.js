/* The page of a tenant: what its requests wait for, and what there is of its
   providers and images.

   Whatever comes from the API becomes text of an element, never HTML. */
'use strict';

// Milliseconds between two refreshes, at the most, and for an answer.
const INTERVAL = 10000;
const LONGEST = 120000;
const TIMEOUT = 30000;
// Requests that are shown at first, and at the most.
const FIRST = 100;
const MOST = 1000;
const NODES = [
    ['in_use', 'In use'], ['ready', 'Ready'], ['building', 'Building'],
    ['hold', 'On hold'], ['failed', 'Failed']];
const KINDS = {
    provider: 'this provider', section: 'section', endpoint: 'endpoint'};
const VALIDATED = new Map([
    [true, 'yes'], [false, 'failed'], [null, 'not yet']]);

// Where this page is: behind a proxy, Zuul may be below any path.
const PLACE = /^(.*)\/zuul-nodes\/(?:t\/([^/]+)\/)?(?:index\.html)?$/.exec(
    location.pathname) || [null, '', undefined];
const PREFIX = PLACE[1];

const state = {
    tenant: null, api: null, limit: FIRST, token: null, failures: 0,
    isStopped: false, isBusy: false, timer: null};

const find = id => document.getElementById(id);

/* Make an element: of its attributes, and of texts and other elements. */
function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (value !== null) {
            element.setAttribute(key, value);
        }
    }
    element.append(...children.map(
        each => each instanceof Node ? each : String(each ?? '-')));
    return element;
}

/* Columns are pairs of a heading and a class; the cells of the column with the
   class "head" are headings of their rows. */
function makeTable(caption, columns, rows) {
    const table = make(
        'table', {}, make('caption', {}, caption),
        make('thead', {}, make('tr', {}, ...columns.map(([title, kind]) =>
            make('th', {scope: 'col', class: kind || null}, title)))),
        make('tbody', {}, ...rows.map(cells => make(
            'tr', {}, ...cells.map((cell, index) => {
                const kind = columns[index][1] || null;
                return kind === 'head'
                    ? make('th', {scope: 'row'}, cell)
                    : make('td', {class: kind}, cell);
            })))));
    // What may scroll can be reached with the keyboard, and has a name.
    return make('div', {class: 'scroll', tabindex: '0', role: 'region',
                        'aria-label': caption}, table);
}

function formatTime(seconds) {
    if (seconds < 120) {
        return `${Math.max(0, Math.round(seconds))} s`;
    }
    if (seconds < 7200) {
        return `${Math.round(seconds / 60)} min`;
    }
    return seconds < 172800 ? `${Math.round(seconds / 3600)} h`
        : `${Math.round(seconds / 86400)} days`;
}

/* Amounts of cores and the like need not be whole numbers. */
const formatAmount = amount => String(Math.round(amount * 100) / 100);

function formatStamp(seconds) {
    return seconds ? new Date(seconds * 1000).toLocaleString() : '-';
}

function makeRequests(answer) {
    const {requests, total} = answer;
    find('more').hidden = total <= requests.length || requests.length >= MOST;
    if (!total) {
        return [make('p', {}, 'No request waits for nodes.')];
    }
    const caption = total > requests.length
        ? `The first ${requests.length} of ${total} requests without nodes`
        : `${total} ${total === 1 ? 'request' : 'requests'} without nodes, ` +
            'the next one first';
    return [makeTable(caption, [
        ['Request', 'head'], ['Job'], ['Pipeline'], ['Labels'], ['State'],
        ['Age', 'number'], ['Position in all tenants', 'number'],
        ['Why it waits', 'text']], requests.map(each => [
        make('span', {title: each.uuid}, each.uuid.slice(0, 8)), each.job,
        each.pipeline, each.labels.join(', '),
        each.state === 'requested' ? 'waits' : 'gets nodes',
        formatTime(each.age), each.position, explain(each)]))];
}

function explain(request) {
    if (request.state !== 'requested') {
        return 'Its nodes are being prepared.';
    }
    if (!request.reason) {
        return 'The reason is recorded after some seconds.';
    }
    return request.ahead
        ? `${request.ahead} with the same needs ahead. The first waits: ` +
            request.reason
        : request.reason;
}

function makePauses(providers, images) {
    const rows = [];
    for (const provider of providers) {
        for (const pause of provider.pauses) {
            rows.push([
                pause.label ? `label ${pause.label} at ${provider.name}`
                    : `provider ${provider.name}`,
                formatTime(pause.left), pause.reason]);
        }
    }
    for (const image of images) {
        if (image.paused !== null) {
            rows.push([`image ${image.name}`, 'until an operator resumes it',
                       image.paused || '-']);
        }
    }
    return rows.length
        ? [makeTable('Paused providers, labels and images', [
            ['What', 'head'], ['Time left'], ['Reason', 'text']], rows)]
        : [make('p', {}, 'Nothing is paused.')];
}

/* A bar of the parts of a limit; the numbers beside it say the same. */
function makeBar(name, limit) {
    const taken = limit.used + limit.foreign + limit.reserved;
    const bar = make('div', {
        class: 'bar', role: 'meter', 'aria-label': name,
        'aria-valuemin': 0, 'aria-valuemax': limit.limit,
        'aria-valuenow': Math.min(taken, limit.limit),
        'aria-valuetext':
            `${formatAmount(limit.used)} of ${formatAmount(limit.limit)} ` +
            `in use, ${formatAmount(limit.foreign)} used by others, ` +
            `${formatAmount(limit.reserved)} kept, ` +
            `${formatAmount(limit.free)} free`});
    // More than the limit may be in use, if it has been lowered.
    const whole = Math.max(limit.limit, taken) || 1;
    for (const part of ['used', 'foreign', 'reserved']) {
        const element = make('span', {class: part});
        element.style.width = `${100 * limit[part] / whole}%`;
        bar.append(element);
    }
    return bar;
}

/* What the tenant uses at all providers, and may use. */
function makeTenantLimits(limits) {
    if (!limits.length) {
        return [make('p', {}, 'It uses nothing, and has no limit of its own.')];
    }
    return [makeTable('In use by its requests, at all providers', [
        ['Resource', 'head'], ['Usage'], ['In use', 'number'],
        ['Free', 'number'], ['Limit', 'number']], limits.map(
        ({resource, used, limit}) => {
            if (limit === null) {
                return [resource, null, formatAmount(used), null, 'none'];
            }
            const free = Math.max(0, limit - used);
            return [
                resource, makeBar(`${resource} of this tenant`, {
                    used, limit, free, foreign: 0, reserved: 0}),
                ...[used, free, limit].map(formatAmount)];
        }))];
}

function makeProviders(providers) {
    if (!providers.length) {
        return [make('p', {}, 'This tenant has no providers.')];
    }
    return providers.map(provider => {
        const article = make('article', {}, make('h3', {}, provider.name),
                             make('p', {class: 'note'},
                                  `Connection ${provider.connection}`));
        if (provider.problem) {
            article.append(make('p', {class: 'problem'},
                                `Problem: ${provider.problem}`));
        }
        if (provider.limits === null) {
            article.append(make('p', {class: 'note'},
                                'Its limits are not recorded yet.'));
        } else if (provider.limits.length) {
            article.append(makeLimits(provider));
        } else {
            article.append(make('p', {class: 'note'}, 'It has no limits.'));
        }
        article.append(makeNodes(provider), ...provider.labels
            .filter(label => label.min_ready_times)
            .map(label => make(
                'p', {class: 'note'},
                `Min-ready of ${label.name}: ${label.min_ready_times}`)));
        return article;
    });
}

function makeLimits(provider) {
    return makeTable(`Limits of ${provider.name}`, [
        ['Resource', 'head'], ['Limit of'], ['Usage'], ['In use', 'number'],
        ['Others use', 'number'], ['Kept', 'number'], ['Free', 'number'],
        ['Limit', 'number']], provider.limits.map(limit => {
        const owner = limit.kind === 'provider' || !limit.name
            ? KINDS[limit.kind] : `${KINDS[limit.kind]} ${limit.name}`;
        return [
            limit.resource, owner,
            makeBar(`${limit.resource} of ${owner}`, limit),
            ...['used', 'foreign', 'reserved', 'free', 'limit'].map(
                part => formatAmount(limit[part]))];
    }));
}

function makeNodes(provider) {
    const rows = provider.labels.map(label => [
        label.name, ...NODES.map(([key]) => label[key]), label.min_ready]);
    rows.push(['All labels', ...NODES.map(([key]) => provider.nodes[key]),
               null]);
    return makeTable(`Nodes of ${provider.name}, of all tenants`, [
        ['Label', 'head'], ...NODES.map(([, title]) => [title, 'number']),
        ['Min-ready of this tenant', 'number']], rows);
}

function makeImages(images) {
    if (!images.length) {
        return [make('p', {}, 'This tenant has no images that jobs build.')];
    }
    return images.map(image => {
        const article = make('article', {}, make('h3', {}, image.name));
        if (image.problem) {
            article.append(make('p', {class: 'problem'},
                                `Problem: ${image.problem}`));
        }
        if (image.builds.length) {
            const rows = image.builds.flatMap(makeBuildRows);
            article.append(makeTable(
                image.total > image.builds.length
                    ? `The newest ${image.builds.length} of ${image.total} ` +
                        `builds of ${image.name}`
                    : `Builds of ${image.name}, the newest first`, [
                    ['Build', 'head'], ['Format'], ['Built'], ['State'],
                    ['Endpoint'], ['Upload'], ['Validated'], ['In service'],
                    ['Remark', 'text']], rows));
        } else {
            article.append(make('p', {class: 'note'}, 'It has no build.'));
        }
        return article;
    });
}

function makeBuildRows(build) {
    const first = [
        make('span', {title: build.uuid}, build.uuid.slice(0, 8)),
        build.format, formatStamp(build.time),
        (build.state || 'reported') + (build.kept ? ', kept' : '')];
    if (!build.uploads.length) {
        return [[...first, '-', '-', '-', 'no', 'It has no uploads yet.']];
    }
    return build.uploads.map(upload => [
        ...first.map(each => each instanceof Node ? each.cloneNode(true)
            : each),
        upload.endpoint, upload.state, VALIDATED.get(upload.validated),
        upload.in_service ? 'yes' : 'no', upload.remark]);
}

/* Change what differs only: focus, and what is read just now, stay. */
function update(old, fresh) {
    if (old.isEqualNode(fresh)) {
        return;
    }
    // A policy forbids to set the attribute "style" again.
    if (old.nodeName !== fresh.nodeName || old.nodeType !== Node.ELEMENT_NODE
            || fresh.hasAttribute('style')) {
        old.replaceWith(fresh);
        return;
    }
    for (const {name, value} of fresh.attributes) {
        old.setAttribute(name, value);
    }
    for (const {name} of [...old.attributes]) {
        if (!fresh.hasAttribute(name)) {
            old.removeAttribute(name);
        }
    }
    updateChildren(old, [...fresh.childNodes]);
}

function updateChildren(parent, fresh) {
    const old = [...parent.childNodes];
    fresh.forEach((each, index) => index < old.length
        ? update(old[index], each) : parent.append(each));
    old.slice(fresh.length).forEach(each => each.remove());
}

function show(id, elements) {
    updateChildren(find(id).querySelector('.content'), elements);
}

/* What could not be read stays as it was. */
function showTenant({requests, limits, providers, images}) {
    if (requests) {
        show('requests', makeRequests(requests));
    }
    if (providers && images) {
        show('pauses', makePauses(providers, images));
    }
    if (limits) {
        show('limits', makeTenantLimits(limits));
    }
    if (providers) {
        show('providers', makeProviders(providers));
    }
    if (images) {
        show('images', makeImages(images));
    }
    find('tenant').hidden = false;
}

class Refused extends Error {}

/* Zuul's own pages keep the user of a tab there. */
function findToken() {
    if (state.token) {
        return state.token;
    }
    for (let index = 0; index < sessionStorage.length; index++) {
        const key = sessionStorage.key(index);
        if (key.startsWith('oidc.user:')) {
            try {
                const user = JSON.parse(sessionStorage.getItem(key));
                if (user.access_token && user.expires_at > Date.now() / 1000) {
                    return user.access_token;
                }
            } catch {
                // Of a later release, or of another application.
            }
        }
    }
    return null;
}

async function ask(path) {
    const token = findToken();
    const response = await fetch(PREFIX + path, {
        headers: token ? {Authorization: `Bearer ${token}`} : {},
        cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT)});
    if (response.status === 401 || response.status === 403) {
        throw new Refused();
    }
    if (!response.ok) {
        throw new Error(response.status === 404 ? 'there is no such tenant'
            : `zuul-web answers with status ${response.status}`);
    }
    return response.json();
}

/* Find out whose page this is: a proxy may show a single tenant's Zuul. */
async function findTenant() {
    let path = '/api';
    if (PLACE[2] !== undefined) {
        state.tenant = decodeURIComponent(PLACE[2]);
        path = `/api/tenant/${PLACE[2]}`;
    } else {
        state.tenant = (await ask('/api/info')).info.tenant || null;
    }
    if (state.tenant === null) {
        return;
    }
    state.api = `${path}/zuul-nodes`;
    const pages = PLACE[2] === undefined ? `${PREFIX}/`
        : `${PREFIX}/t/${PLACE[2]}/`;
    find('zuul').href = find('loginpage').href = `${pages}status`;
    find('title').textContent = `Nodes of the tenant ${state.tenant}`;
    document.title = `Nodes of ${state.tenant}`;
    find('sections').hidden = false;
    find('refresh').hidden = false;
}

async function listTenants() {
    const tenants = await ask('/api/tenants');
    find('tenants').querySelector('ul').replaceChildren(...tenants.map(
        ({name}) => make('li', {}, make(
            'a', {href: `t/${encodeURIComponent(name)}/`}, name))));
    find('tenants').hidden = false;
}

async function load() {
    if (state.tenant === null) {
        await findTenant();
    }
    if (state.tenant === null) {
        await listTenants();
        return;
    }
    const paths = {requests: `requests?limit=${state.limit}`,
                   limits: 'limits', providers: 'providers',
                   images: 'images'};
    const answers = {};
    const errors = [];
    await Promise.all(Object.entries(paths).map(async ([name, path]) => {
        try {
            answers[name] = await ask(`${state.api}/${path}`);
        } catch (error) {
            errors.push(error);
        }
    }));
    const error = errors.find(each => each instanceof Refused) || errors[0];
    if (Object.keys(answers).length) {
        showTenant(answers);
    }
    if (error) {
        throw error;
    }
    find('updated').textContent =
        `Updated at ${new Date().toLocaleTimeString()}`;
}

function say(text) {
    // The same text again would be read aloud again.
    if (find('message').textContent !== text) {
        find('message').textContent = text;
    }
}

async function refresh() {
    clearTimeout(state.timer);
    if (state.isBusy) {
        return;
    }
    state.isBusy = true;
    try {
        await load();
        say(state.failures ? 'The page is up to date again.'
            : find('message').textContent);
        state.failures = 0;
        find('login').hidden = true;
    } catch (error) {
        state.failures++;
        if (error instanceof Refused) {
            find('login').hidden = false;
            find('tenant').hidden = true;
            say(state.token ? 'The token gives no access to this tenant.'
                : 'This tenant asks for a token.');
        } else {
            say(`Not up to date: ${error.message}. The page tries again.`);
        }
    } finally {
        state.isBusy = false;
        schedule();
    }
}

function schedule() {
    clearTimeout(state.timer);
    if (!state.isStopped && !document.hidden && find('login').hidden) {
        state.timer = setTimeout(
            refresh, Math.min(LONGEST, INTERVAL * 2 ** state.failures));
    }
}

find('stop').addEventListener('click', () => {
    state.isStopped = !state.isStopped;
    find('stop').setAttribute('aria-pressed', String(state.isStopped));
    if (state.isStopped) {
        schedule();
    } else {
        refresh();
    }
});
find('more').addEventListener('click', () => {
    state.limit = Math.min(MOST, state.limit + FIRST);
    refresh();
});
find('login').addEventListener('submit', event => {
    event.preventDefault();
    state.token = find('token').value.trim();
    find('token').value = '';
    refresh();
});
document.addEventListener('visibilitychange', () => {
    if (!document.hidden && !state.isStopped) {
        refresh();
    }
});
refresh();
