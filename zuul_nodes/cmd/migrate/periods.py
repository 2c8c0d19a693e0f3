"""Timer pipelines: one for each age at which images are rebuilt."""

HOUR, DAY = 3600, 86400
# Hours that divide a day, so that builds are evenly spread.
HOURS = (1, 2, 3, 4, 6, 8, 12)
# At night, when there is the least to do.
TIME = '0 3'


def getPipeline(age):
    """
    :param age: ``rebuild-age`` of Nodepool, seconds.
    :return: (name of the pipeline, its time as of cron, whether the period
        is that age).
    """
    if isinstance(age, bool) or not isinstance(age, int | float) or age < 1:
        age = DAY
    if age < 23 * HOUR:
        hours = min(HOURS, key=lambda each: abs(each - age / HOUR))
        return (f'image-rebuild-{hours}-hours', f'0 */{hours} * * *',
                age == hours * HOUR)
    days = round(age / DAY)
    if days <= 1:
        return 'image-rebuild-daily', f'{TIME} * * *', age == DAY
    if days == 7:
        return 'image-rebuild-weekly', f'{TIME} * * 0', age == 7 * DAY
    if days >= 28:
        return 'image-rebuild-monthly', f'{TIME} 1 * *', False
    # The first day of a month begins a new count.
    return f'image-rebuild-{days}-days', f'{TIME} */{days} * *', False
